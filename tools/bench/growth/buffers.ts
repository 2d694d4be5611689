import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { HttpClient } from '@muster/testing';
import { startApp } from '../bench-tenant';
import { type GrowthFixture, getRedisPrefix } from './fixture';

/** Settings that make Postgres log the plan of each executed statement. */
const explained = [
  'session_preload_libraries=auto_explain',
  'auto_explain.log_min_duration=0',
  'auto_explain.log_analyze=on',
  'auto_explain.log_timing=off',
  'auto_explain.log_buffers=on',
  'auto_explain.log_format=json',
];

/**
 * Counts the 8 KiB pages that the statements of each request read. It uses a separate gateway, because the logging
 * makes its statements slower.
 */
export async function countBuffers(fixture: GrowthFixture, paths: string[]): Promise<(number | null)[]> {
  const log = join(fixture.stack.dataDir, 'postgres', 'postgres.log');
  const paged = await stat(log).catch(() => null);
  // The log cannot be read if Postgres runs on another machine.
  if (!paged) return paths.map(() => null);
  const database = getRedisPrefix(fixture);
  for (const setting of explained) await fixture.client.query(`ALTER DATABASE ${database} SET ${setting}`);
  const gateway = await startApp('gateway', fixture.stack, { REDIS_PREFIX: database });
  try {
    const buffers: (number | null)[] = [];
    for (const path of paths) {
      const { headers } = path.startsWith('/api/admin') ? fixture.as.super_admin : fixture.as.admin;
      const { size } = await stat(log);
      await new HttpClient(gateway.url, headers).get(path);
      // Postgres writes its log a little later than the response arrives.
      await delay(20);
      buffers.push(sumPages(await readFileFromOffset(log, size)));
    }
    return buffers;
  } finally {
    await gateway.stop();
    await fixture.client.query(`ALTER DATABASE ${database} RESET ALL`);
  }
}

async function readFileFromOffset(file: string, from: number): Promise<string> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
    return buffer.subarray(0, bytesRead).toString();
  } finally {
    await handle.close();
  }
}

/** Sums the pages of each plan's topmost node, which include those of its children. */
function sumPages(log: string): number | null {
  const plans = log.split('"Query Text"').slice(1);
  if (plans.length === 0) return null;
  const findFirstNumber = (plan: string, name: string) =>
    Number(new RegExp(`"${name} Blocks": (\\d+)`).exec(plan)?.[1] ?? 0);
  return plans.reduce(
    (sum, plan) => sum + findFirstNumber(plan, 'Shared Hit') + findFirstNumber(plan, 'Shared Read'),
    0,
  );
}
