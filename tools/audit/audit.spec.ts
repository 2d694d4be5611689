import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { audit, linkNewAuditRows } from '@muster/access';
import { DatabaseModule, createOwnerDataSource } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeOrganization, startHarness } from '@muster/testing';

const program = resolve(__dirname, '../../dist/tools/audit/audit.js');

describe('npm run audit', () => {
  let harness: Harness;
  let organizationId: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    organizationId = (await makeOrganization(harness.db)).id;
    const actor = { kind: 'system', id: 'test', organizationId } as const;
    for (const id of ['one', 'two']) {
      await harness.db.transaction({ organizationId }, (tx) => {
        audit(tx, actor, { action: 'test.note', target: { type: 'test', id } });
        return Promise.resolve();
      });
    }
    await linkNewAuditRows(harness.db);
  });
  afterAll(() => harness.close());

  const runAudit = (args: string[], env: Record<string, string> = { DATABASE_URL: harness.databaseUrl }) =>
    new Promise<{ code: number; out: string; error: string }>((done) => {
      execFile(
        process.execPath,
        [program, ...args],
        { env: { PATH: process.env['PATH'], ...env } },
        (failure, out, error) => done({ code: failure ? Number(failure.code) : 0, out, error }),
      );
    });
  const tamperWithRows = async (sql: string) => {
    const owner = await createOwnerDataSource(harness.databaseUrl).initialize();
    await owner.query(sql);
    await owner.destroy();
  };

  it('npm run audit exits with 0 and reports the verified rows if none was changed', async () => {
    const { code, out } = await runAudit(['verify']);
    expect(out).toMatch(new RegExp(`organization ${organizationId}: 2 rows and 0 closed days intact`));
    expect(out.trim().split('\n').at(-1)).toBe('The audit trail and the access log are intact.');
    expect(code).toBe(0);
  });

  it('npm run audit exits with 1 and names the day and the row that was changed', async () => {
    await tamperWithRows(`UPDATE audit_entry SET target_id = 'three' WHERE target_id = 'two'`);
    const { code, out } = await runAudit(['verify', organizationId]);
    expect(out).toMatch(
      new RegExp(`organization ${organizationId}: \\d{4}-\\d\\d-\\d\\d: audit trail: row \\S+ was changed`),
    );
    expect(out.trim().split('\n').at(-1)).toBe('The audit trail or the access log was changed: 1 fault was found.');
    expect(code).toBe(1);
    await tamperWithRows(`UPDATE audit_entry SET target_id = 'two' WHERE target_id = 'three'`);
  });

  it('npm run audit exits with 2 if it cannot verify anything', async () => {
    expect(await runAudit([])).toMatchObject({ code: 2, error: expect.stringMatching(/usage/) });
    const unknown = newId();
    const answer = await runAudit(['verify', unknown]);
    expect(answer).toMatchObject({ code: 2, error: expect.stringContaining(`there is no organization ${unknown}`) });
    expect(await runAudit(['verify'], { MUSTER_DATA_DIR: '/nowhere' })).toMatchObject({
      code: 2,
      error: expect.stringMatching(/set DATABASE_URL/),
    });
  });
});
