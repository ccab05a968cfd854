// The npm package `ws` against a server: as a client that uses everything, as a crowd, and as a
// peer that sends anything, judged by its own receiver.
//
// Usage: node ws_client.mjs FOLDER_WITH_NODE_MODULES SCENARIO URL [SEED CASES]
// Says one line of JSON when all is well; ends with 1 and a sentence when it is not.

import { createRequire } from 'node:module';
import { Buffer } from 'node:buffer';

const [folder, scenario, url, seedText, casesText] = process.argv.slice(2);
const require = createRequire(folder + '/');
const WebSocket = require('ws');

const fail = (what) => {
  console.error(what);
  process.exit(1);
};
const expect = (found, wanted, what) => {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) fail(`${what}: ${a} in place of ${b}`);
};
process.on('unhandledRejection', (error) => fail(error.stack));

const once = (socket, name) => new Promise((resolve, reject) => {
  socket.once(name, (...values) => resolve(values));
  if (name !== 'error') socket.once('error', reject);
});

const plain = async (options = {}) => {
  const socket = new WebSocket(url, options);
  await once(socket, 'open');
  return socket;
};

const call = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });

// Replies in any order, by their ids.
const replies = (socket, count) => new Promise((resolve, reject) => {
  const found = new Map();
  const take = (data, binary) => {
    if (binary) reject(new Error('a binary message'));
    const answer = JSON.parse(data.toString());
    found.set(answer.id, answer);
    if (found.size < count) return;
    socket.off('message', take);
    resolve(found);
  };
  socket.on('message', take);
  socket.once('close', (code) => reject(new Error(`closed with ${code}`)));
});

const client = async () => {
  const socket = await plain();
  expect(socket.extensions, '', 'extensions');
  let waited = replies(socket, 100);
  for (let id = 0; id < 100; ++id) socket.send(call(id, 'sum', [id, 1]));
  for (const [id, answer] of await waited) expect(answer.result, id + 1, 'sum');

  waited = replies(socket, 1);
  socket.send('{"jsonrpc":"2.0","id":"f",', { fin: false });
  socket.ping('between');
  socket.send('"method":"echo",', { fin: false });
  socket.send('', { fin: false });
  socket.send('"params":["caf\u00e9 \u{1F600}"]}');
  expect((await once(socket, 'pong'))[0].toString(), 'between', 'pong');
  expect((await waited).get('f').result, ['caf\u00e9 \u{1F600}'], 'echo');

  waited = replies(socket, 4);
  const long = 'x'.repeat(1_000_000);
  for (const size of [1, 125, 126]) socket.send(call(size, 'blob', { bytes: size }));
  socket.send(call('long', 'echo', [long]));
  const large = await waited;
  for (const size of [1, 125, 126]) expect(large.get(size).result.length, size, 'blob');
  expect(large.get('long').result[0] === long, true, 'a long echo');

  waited = replies(socket, 1);
  const calls = [JSON.parse(call(1, 'sum', [1, 1])), { jsonrpc: '2.0', method: 'sum' }];
  socket.send(JSON.stringify(calls));
  socket.send('{"jsonrpc":"2.0","method":"sum","params":[1,1]}');
  socket.send(call('end', 'sum', [2, 2]));
  await waited;

  const closed = once(socket, 'close');
  socket.close(4000, 'enough');
  expect((await closed)[0], 4000, 'close');
};

// Each way in which a server ends a connection.
const ends = async () => {
  const binary = await plain();
  binary.send(Buffer.from('x'));
  expect((await once(binary, 'close'))[0], 1003, 'binary');
  const large = await plain();
  large.on('error', () => {});
  // Refused by its last header: who sends more than a little behind a refusal may be reset.
  large.send('x'.repeat(4 << 20), { fin: false });
  large.send('x');
  expect((await once(large, 'close'))[0], 1009, 'too large');
  const text = await plain();
  text.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false });
  expect((await once(text, 'close'))[0], 1007, 'no UTF-8');
  const unmasked = await plain();
  unmasked.send('{}', { mask: false });
  expect((await once(unmasked, 'close'))[0], 1002, 'unmasked');
  const refused = new WebSocket(url, { origin: 'https://evil.example' });
  const [error] = await once(refused, 'error');
  expect(error.message, 'Unexpected server response: 403', 'origin');
  const protocols = new WebSocket(url, ['soap']);
  expect((await once(protocols, 'error'))[0].message, 'Server sent no subprotocol', 'protocols');
};

// Many at once; they stay until the server ends them.
const crowd = async () => {
  const count = Number(seedText);
  const sockets = await Promise.all(Array.from({ length: count }, () => plain()));
  const answered = sockets.map((socket, id) => {
    const waited = replies(socket, 1);
    socket.send(call(id, 'sum', [id, 1]));
    return waited;
  });
  for (const [id, found] of (await Promise.all(answered)).entries()) {
    expect(found.get(id).result, id + 1, 'sum');
  }
  const codes = sockets.map((socket) => once(socket, 'close'));
  console.log(JSON.stringify({ open: count }));
  for (const [code] of await Promise.all(codes)) expect(code, 1001, 'the end');
};

// --- Anything ---

let state = BigInt(seedText || 1) | 1n;
const random = (below) => {  // xorshift: the same everywhere
  state ^= (state << 13n) & 0xffffffffffffffffn;
  state ^= state >> 7n;
  state ^= (state << 17n) & 0xffffffffffffffffn;
  return Number(state % BigInt(below));
};
const pick = (list) => list[random(list.length)];

const frame = (first, payload, masked = true) => {
  const size = payload.length;
  const head = [first];
  if (size < 126) head.push(size);
  else if (size < 65536) head.push(126, size >> 8, size & 255);
  else head.push(127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((shift) => (size >> shift) & 255));
  if (!masked) return Buffer.concat([Buffer.from(head), payload]);
  head[1] |= 0x80;
  const key = Buffer.from([random(256), random(256), random(256), random(256)]);
  const hidden = Buffer.from(payload);
  for (let i = 0; i < size; ++i) hidden[i] ^= key[i % 4];
  return Buffer.concat([Buffer.from(head), key, hidden]);
};

const texts = [call(1, 'sum', [1, 2]), call('x', 'echo', ['\u20ac']), '[]', '', '{}', 'no json',
  call(2, 'blob', { bytes: 300 })].map((text) => Buffer.from(text));

// One connection's frames: mostly good, some odd, some damaged, and a ping.
const stream = () => {
  const parts = [];
  let open = false;
  for (let count = 1 + random(8); count > 0; --count) {
    const kind = random(20);
    if (kind < 12) {
      const final = random(3) !== 0;
      parts.push(frame((final ? 0x80 : 0) | (open ? 0 : 1), pick(texts), random(60) !== 0));
      open = !final;
    } else if (kind < 16) {
      parts.push(frame(pick([0x89, 0x8a]), Buffer.alloc(pick([0, 1, 125]), 'p')));
    } else if (kind === 16) {
      const payload = pick(['', '\x03\xe8', '\x03', '\x03\xec', '\x0f\xa0bye']);
      parts.push(frame(0x88, Buffer.from(payload, 'latin1')));
    } else if (kind === 17) {
      parts.push(frame(random(256), pick(texts)));
    } else if (kind === 18) {
      parts.push(frame(open ? 0x80 : 0x81, Buffer.from([random(256), random(256), random(256)])));
      open = false;
    }
  }
  const bytes = Buffer.concat(parts);
  if (random(4) === 0 && bytes.length > 0) bytes[random(bytes.length)] ^= 1 << random(8);
  return Buffer.concat([bytes, frame(0x89, Buffer.from('the last'))]);
};

// What the package's own receiver, as a server, makes of the bytes.
const judged = (bytes) => {
  const { Receiver } = WebSocket;
  const rules = { isServer: true, maxPayload: 4 << 20, allowSynchronousEvents: true };
  const receiver = new Receiver(rules);
  const said = { messages: 0, binary: false, code: 0, closed: null };
  receiver.on('message', (data, binary) => { binary ? said.binary = true : ++said.messages; });
  receiver.on('conclude', (code) => { said.closed = code; });
  return new Promise((resolve) => {
    receiver.on('error', (error) => {
      for (const symbol of Object.getOwnPropertySymbols(error)) {
        if (symbol.description === 'status-code') said.code = error[symbol];
      }
      resolve(said);
    });
    receiver.write(bytes, () => setImmediate(() => resolve(said)));
  });
};

// Opens, writes the bytes raw in pieces, and waits for what ends it.
const anything = async (bytes) => {
  const socket = await plain({ perMessageDeflate: false });
  const heard = { messages: 0, code: 0, answered: false };
  socket.on('message', (data) => {
    JSON.parse(data.toString());
    ++heard.messages;
  });
  socket.on('error', (error) => fail(`the server's frames: ${error.message}`));
  const closed = once(socket, 'close');
  const ponged = new Promise((resolve) => socket.on('pong', (data) => {
    if (data.toString() !== 'the last') return;
    heard.answered = true;
    resolve();
  }));
  const raw = socket._socket;
  for (let at = 0; at < bytes.length;) {
    const size = 1 + random(random(4) === 0 ? 8 : 4096);
    raw.write(bytes.subarray(at, at + size));
    at += size;
    if (random(3) === 0) await new Promise(setImmediate);
  }
  // Within a frame the ping is swallowed: then the end of the connection is the end.
  const timer = setTimeout(() => raw.end(), 300);
  await Promise.race([closed, ponged]);
  clearTimeout(timer);
  if (socket.readyState === WebSocket.OPEN) socket.terminate();
  heard.code = (await closed)[0];
  return heard;
};

const fuzz = async () => {
  const counts = { closed: 0, open: 0 };
  for (let i = 0; i < Number(casesText); ++i) {
    const bytes = stream();
    const [wanted, heard] = [await judged(Buffer.from(bytes)), await anything(bytes)];
    const what = `seed ${seedText}, case ${i}, ${bytes.toString('hex')}: ` +
        `${JSON.stringify(heard)} where the package says ${JSON.stringify(wanted)}`;
    // Text is refused at its first bad byte, where the package waits for the message's end.
    const early = heard.code === 1007;
    if (wanted.binary ? heard.code !== 1003 && !early
      : wanted.code !== 0 ? heard.code !== wanted.code && !early && heard.code !== 1003
        : wanted.closed !== null ? heard.code !== wanted.closed && !early && heard.code !== 1003
          : heard.code !== 1006 && heard.code !== 1005 && !early && heard.code !== 1003) {
      fail(what);
    }
    heard.answered ? ++counts.open : ++counts.closed;
  }
  return counts;
};

const scenarios = { client, ends, crowd, fuzz };
console.log(JSON.stringify((await scenarios[scenario]()) ?? 'well'));
