// How Node reads the bytes of a connection: a case in hex on each line of stdin, a line of JSON
// about it on stdout, in the words of reader.h.
//
// Each case is a connection of one node:http server with its strict parser. Its socket is a pair of
// streams in memory: what the server is given, and when, does not depend on a kernel.

import http from 'node:http';
import readline from 'node:readline';
import {Duplex} from 'node:stream';

const hex = (text) => Buffer.from(text, 'latin1').toString('hex');

let current;  // the case that is being read

// Node answers some requests by itself and reads on, where this engine ends the connection: then
// what follows is nobody's request.
const refuse = (code) => { current.code ||= code; };

function note(request) {
  if (['EXPECTATION_FAILED', 'NO_HOST'].includes(current.code)) return;
  // What the server's own requireHostHeader looks for.
  if (request.httpVersion === '1.1' && request.headers.host === undefined) return refuse('NO_HOST');
  const seen = {
    method: hex(request.method), target: hex(request.url), major: request.httpVersionMajor,
    minor: request.httpVersionMinor, headers: [], body: '', whole: false,
  };
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    seen.headers.push([hex(request.rawHeaders[i]), hex(request.rawHeaders[i + 1])]);
  }
  current.requests.push(seen);
  request.on('data', (piece) => { seen.body += piece.toString('hex'); });
  request.on('end', () => { seen.whole = true; });
  request.on('error', () => {});
}

const server = http.createServer({
  insecureHTTPParser: false, requireHostHeader: false, requestTimeout: 0, headersTimeout: 0,
  keepAliveTimeout: 0,
  connectionsCheckingInterval: 1 << 30,
});
server.on('request', note);
server.on('checkContinue', note);
server.on('checkExpectation', () => refuse('EXPECTATION_FAILED'));
server.on('connect', note);
server.on('clientError', (error) => refuse(error.code ?? error.message));

class Line extends Duplex {
  _read() {}
  _write(bytes, encoding, done) { done(); }
  // Not before what came with the bytes that ended it has been seen.
  _destroy(error, done) { setImmediate(setImmediate, done, error); }
  setTimeout() { return this; }
  setNoDelay() { return this; }
  setKeepAlive() { return this; }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function read(bytes) {
  current = {requests: [], code: ''};
  const line = new Line();
  line.on('error', () => {});
  server.emit('connection', line);
  line.push(bytes);
  await turn();
  await turn();
  if (!line.destroyed) line.push(null);
  await turn();
  await turn();
  const said = current;
  line.destroy();
  const whole = said.requests.filter((request) => request.whole);
  let end = 'clean';
  if (said.code || whole.length < said.requests.length) end = 'refused';
  if (said.code === 'HPE_INVALID_EOF_STATE') end = 'incomplete';
  return {requests: whole, end, code: said.code};
}

for await (const line of readline.createInterface({input: process.stdin})) {
  process.stdout.write(JSON.stringify(await read(Buffer.from(line, 'hex'))) + '\n');
}
process.exit(0);
