import type { AskingStage } from './asking-stage';
import { ownKey, readRedis } from './read-redis';

/**
 * The texts that were found in one place, and a text that must be among them. Without it, the place could not be read.
 */
type Place = [place: string, texts: string, marker: string];

/** Expects that the portal received each code once, and that no code, password or TOTP secret is stored unsealed. */
export async function expectNoStoredSecrets(stage: AskingStage, numberOfCodes: number): Promise<void> {
  const { portal } = stage;
  const codes = portal.listCodes();
  expect(codes).toHaveLength(numberOfCodes);
  expect(new Set(codes).size).toBe(codes.length);
  const secrets = [...codes, portal.password, portal.totpSecret];
  for (const [place, texts, marker] of await collectTexts(stage)) {
    expect([place, texts.includes(marker)]).toEqual([place, true]);
    for (const secret of secrets) expect([place, texts.includes(secret)]).toEqual([place, false]);
  }
}

/** Reads everything in which the service, its worker and its receivers could have stored a code. */
async function collectTexts(stage: AskingStage): Promise<Place[]> {
  const { fixture, agentId } = stage;
  const { jobs } = await stage.readResource('/api/jobs?limit=200');
  const runs: string[] = (jobs as { jobId?: string; id: string }[]).map(({ jobId, id }) => jobId ?? id);
  const day = new Date().toISOString().slice(0, 10);
  const readText = async (path: string) => (await stage.admin.get(path)).text;
  const logs = await Promise.all(runs.map((id) => stage.readPages(`/api/jobs/${id}/logs`)));
  const jobPages = await Promise.all(
    runs.map(async (id) => JSON.stringify(await stage.readResource(`/api/jobs/${id}`))),
  );
  const mails = stage.mailbox.mails.map(({ raw }) => raw).join('\n');
  const places: Place[] = [
    ['logs', stage.readOutputs(), '"level"'],
    // The worker's journal of its runs.
    ['files of the worker', stage.readWorkerFiles(), `"jobId":"${runs[0]}"`],
    ['webhooks', stage.delivered.join('\n'), 'question.answered'],
    ['traces', stage.collector.bodies.join('\n'), 'resourceSpans'],
    // Not every test sends mails.
    ['mails', mails, mails && 'Code of the payer'],
    ['messages to the model', stage.model.calls.map(({ text }) => text).join('\n'), 'one-time-code'],
    ['jobs', jobPages.join('\n'), 'welcome'],
    ['logs of jobs', logs.join('\n'), '['],
    ['session', JSON.stringify(await stage.readResource(`/api/agents/${agentId}/autopilot`)), 'Sign in to the payer'],
    ['questions', await stage.readPages('/api/questions'), 'answered'],
    ['timeline', await stage.readPages(`/api/agents/${agentId}/logs`), 'asks: Code of the payer'],
    ['audit', await stage.readPages('/api/audit'), 'question.answer'],
    ['export of jobs', await readText('/api/jobs/export'), 'completed'],
    ['export of costs', await readText(`/api/costs/export?from=${day}&to=${day}`), 'totalUsd'],
    ['export of the access log', await readText('/api/access-log/export'), 'GET /api/jobs/{id}'],
    ['keys of Redis', await readRedis(fixture.stack.redisUrl), ownKey],
    ['commands to Redis', stage.redis.read(), 'advance-session'],
  ];
  const tables = await fixture.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  for (const { name } of tables) {
    const rows = await fixture.query<{ row: string }>(`SELECT t::text AS row FROM "${name}" t`);
    places.push([`table ${name}`, rows.map(({ row }) => row).join('\n'), name === 'question' ? 'Code of the' : '']);
  }
  return places;
}
