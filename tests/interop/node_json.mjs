// How a server in JavaScript would read a JSON-RPC body: a case in hex on each line of stdin, a
// line of JSON about it on stdout. The bytes become text as fetch makes them (broken UTF-8 is
// replaced, a byte order mark dropped), JSON.parse reads it, and the rules of the protocol follow
// from the value.

import readline from 'node:readline';

const hex = (text) => Buffer.from(text, 'utf8').toString('hex');
const own = (value, name) => Object.prototype.hasOwnProperty.call(value, name);
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

function number(value) {
  if (!Number.isFinite(value)) return value > 0 ? 'n+' : 'n-';
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return 'n' + bytes.toString('hex');
}

// The form of reader_json.cpp.
function canonical(value) {
  if (value === undefined) return '';
  if (value === null) return 'z';
  if (typeof value === 'boolean') return value ? 't' : 'f';
  if (typeof value === 'number') return number(value);
  if (typeof value === 'string') return 's' + hex(value);
  if (Array.isArray(value)) return '[' + value.map((one) => canonical(one) + ',').join('') + ']';
  const members = Object.keys(value).map((name) => [hex(name), canonical(value[name])]);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return '{' + members.map(([name, one]) => `${name}:${one},`).join('') + '}';
}

// The answer to one message: [code, id] with code 0 for a result, or nothing.
function answer(message, said) {
  if (!isObject(message)) return [-32600, 'z'];
  const isId = (id) => id === null || ['string', 'number'].includes(typeof id);
  const hasId = own(message, 'id');
  const id = hasId && isId(message.id) ? canonical(message.id) : 'z';
  const isResponse = !own(message, 'method') && (own(message, 'result') || own(message, 'error'));
  if (isResponse) return [-32600, 'z'];
  const valid = own(message, 'jsonrpc') && message.jsonrpc === '2.0' && own(message, 'method') &&
    typeof message.method === 'string' && message.method !== '' && (!hasId || isId(message.id));
  if (!valid) return [-32600, id];
  const params = own(message, 'params') ? message.params : undefined;
  let code = 0;
  if (message.method !== 'see') {
    code = -32601;
  } else if (params !== undefined && (typeof params !== 'object' || params === null)) {
    code = -32602;
  } else {
    said.runs += 1;
    said.value += canonical(params) + ';';
  }
  return hasId ? [code, id] : null;
}

function read(bytes) {
  const said = {answers: [], batch: false, runs: 0, value: ''};
  let value;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    said.answers = [[-32700, 'z']];
    return said;
  }
  said.batch = Array.isArray(value) && value.length > 0;
  said.answers = said.batch ? value.map((one) => answer(one, said)).filter((one) => one)
    : [answer(value, said)].filter((one) => one);
  return said;
}

for await (const line of readline.createInterface({input: process.stdin})) {
  process.stdout.write(JSON.stringify(read(Buffer.from(line, 'hex'))) + '\n');
}
