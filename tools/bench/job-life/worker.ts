import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpClient } from './http-client';

// One server for all machines of a program. It acknowledges a run, and reports it as running and then as completed,
// without any work in between.

const client = new HttpClient();
let report = { url: '', headers: {} as Record<string, string> };

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.writeHead(202, { 'content-type': 'application/json' }).end('{}');
    const { jobId } = JSON.parse(Buffer.concat(chunks).toString()) as { jobId: string };
    void run(jobId);
  });
});

async function run(jobId: string): Promise<void> {
  try {
    for (const status of ['running', 'completed']) {
      const { accepted } = await client.post<{ accepted: boolean }>(report.url, { jobId, status }, report.headers);
      if (!accepted) throw new Error(`${status} was not accepted`);
    }
    process.send!({ jobId });
  } catch (error) {
    process.send!({ jobId, error: (error as Error).message });
  }
}

process.on('message', (message: typeof report) => {
  report = message;
  process.send!({});
});
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
