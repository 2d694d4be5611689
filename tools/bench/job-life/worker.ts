import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpClient } from './http-client';

// One server for all machines of a program. It acknowledges a run, and reports it as running and then as completed,
// without any work in between. On request, it also reports steps and log lines. Then the path of each machine's URL
// must be its agent's id.

interface Report {
  /** URL of the service's job-webhook. */
  url: string;
  headers: Record<string, string>;
  /** Number of steps of each run. Each is reported twice. */
  steps?: number;
  /** Number of log lines of each run, sent in batches like those of a worker. */
  lines?: number;
}

const linesPerBatch = 100;
const client = new HttpClient();
let report: Report = { url: '', headers: {} };

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.writeHead(202, { 'content-type': 'application/json' }).end('{}');
    const { jobId } = JSON.parse(Buffer.concat(chunks).toString()) as { jobId: string };
    void performRun(jobId, request.url!.split('/')[1]!, report);
  });
});

async function performRun(
  jobId: string,
  agentId: string,
  { url, headers, steps = 0, lines = 0 }: Report,
): Promise<void> {
  const postReport = async (to: string, body: object, name: string) => {
    const { accepted } = await client.post<{ accepted: boolean | number }>(to, body, headers);
    if (accepted === false) throw new Error(`${name} was not accepted`);
  };
  try {
    await postReport(url, { jobId, status: 'running' }, 'running');
    for (let order = 1; order <= steps; order += 1) {
      const step = { jobId, stepOrder: order, stepId: `step-${order}`, name: 'Open the claim in the portal' };
      const to = new URL(`/api/agents/${agentId}/step-status`, url).href;
      for (const [at, status] of ['running', 'passed'].entries())
        await postReport(to, { ...step, status, seq: order * 2 + at }, `the step ${status}`);
    }
    for (let from = 0; from < lines; from += linesPerBatch) {
      const logs = Array.from({ length: Math.min(linesPerBatch, lines - from) }, (_, n) => ({
        jobId,
        level: 'info',
        message: `claim ${from + n}: signed in, opened the portal, downloaded one document`,
        timestamp: Math.floor(Date.now() / 1000),
        seq: from + n + 1,
      }));
      await postReport(new URL('/api/job-logs', url).href, { logs }, 'a batch of log lines');
    }
    await postReport(url, { jobId, status: 'completed' }, 'completed');
    process.send!({ jobId });
  } catch (error) {
    process.send!({ jobId, error: (error as Error).message });
  }
}

process.on('message', (message: Report) => {
  report = message;
  process.send!({});
});
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
