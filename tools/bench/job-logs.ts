import { join } from 'node:path';
import { Client } from 'pg';
import { runOnBenchStack } from './bench-stack';
import { makeBenchTenant, startApp } from './bench-tenant';
import { Child } from './child';
import { runPostLoad } from './run-post-load';
import { printReport } from './print-report';
import { runInTurns } from './rounds';

// Measures batches of 100 log entries through the real ingest app. The baseline, the minimal program for comparison, is
// a bare multi-row insert into a table of the same form.

const batch = 100;

void runOnBenchStack(async (stack) => {
  const tenant = await makeBenchTenant(stack, 64);
  const client = new Client({ connectionString: stack.databaseUrl });
  await client.connect();
  await client.query('CREATE TABLE bench_log (LIKE timeline_entry INCLUDING ALL); CREATE SEQUENCE bench_log_seq');
  await client.end();
  const ingest = await startApp('ingest', stack);
  const baseline = await Child.start(join(__dirname, 'jobs-baseline.js'), {
    DATABASE_URL: stack.databaseUrl,
    DATABASE_POOL_SIZE: '10',
  });
  const seqs = new Map(tenant.jobIds.map((id) => [id, 0]));
  let at = 0;
  const buildNextBody = () => {
    const jobId = tenant.jobIds[at++ % tenant.jobIds.length]!;
    const from = seqs.get(jobId)!;
    seqs.set(jobId, from + batch);
    const logs = Array.from({ length: batch }, (_, n) => ({
      jobId,
      level: 'info',
      message: `claim ${from + n}: signed in, opened the portal, downloaded one document`,
      timestamp: 1_767_225_600,
      seq: from + n + 1,
    }));
    return { logs };
  };
  const postLogs = async (url: string) => {
    const headers = { 'x-api-key': tenant.workerKey };
    const round = await runPostLoad(url, {
      path: '/api/job-logs',
      headers,
      nextBody: buildNextBody,
      connections: 16,
      seconds: 5,
    });
    return { ...round, perSecond: round.perSecond * batch };
  };
  try {
    const compared = await runInTurns(
      5,
      () => postLogs(baseline.url),
      () => postLogs(ingest.url),
    );
    printReport({ name: 'job-logs', target: 0.6, unit: 'entries' }, compared, []);
  } finally {
    await Promise.all([ingest.stop(), baseline.stop()]);
  }
});
