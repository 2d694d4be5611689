import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerLoadRequests } from './streams-load';

// The baseline of an event stream: no database, no access check, nothing to resume.

const readers = new Map<string, Set<ServerResponse>>();
let seq = 0;

const server = createServer((request, response) => {
  const agentId = request.url!.split('/')[3]!;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(': the timeline\nretry: 2000\n\n');
  const streams = readers.get(agentId) ?? new Set();
  readers.set(agentId, streams.add(response));
  response.on('close', () => streams.delete(response));
});

answerLoadRequests((agentId, messages) => {
  const frames = messages.map((message) => {
    const data = { type: 'log', jobId: null, level: 'info', message, timestamp: Math.floor(Date.now() / 1000) };
    return `id: ${(seq += 1)}\nevent: log\ndata: ${JSON.stringify(data)}\n\n`;
  });
  const bytes = Buffer.from(frames.join(''));
  for (const reader of readers.get(agentId) ?? []) reader.write(bytes);
});

server.listen(0, '127.0.0.1', () => {
  process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
