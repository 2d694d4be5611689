import { type RunErrorCode, runErrorCodes } from '@muster/contracts';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findJob } from '../lists/job-row';
import { applyJobReport } from '../reports/apply-job-report';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import type { JobEnd } from './finish-job';

const root = resolve(__dirname, '../../../..');

describe('the end of a run', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());

  it('the type of a run’s end requires an error code for a failure and allows none otherwise', () => {
    const facts = { organizationId: 'o', jobId: 'j', source: 'watchdog' } as const;
    const ends: JobEnd[] = [
      { ...facts, to: 'failed', errorCode: 'execution_timeout' },
      { ...facts, to: 'completed' },
      { ...facts, to: 'cancelled' },
      // @ts-expect-error A failure has a code.
      { ...facts, to: 'failed' },
      // @ts-expect-error The code is not in `runErrorCodes`.
      { ...facts, to: 'failed', errorCode: 'it_broke' },
      // @ts-expect-error A completed run has no code.
      { ...facts, to: 'completed', errorCode: 'script_failed' },
    ];
    expect(ends).toHaveLength(6);
  });

  it('each error code that a run can end with is used by code that ends runs', () => {
    const folders = ['libs/jobs/src', 'libs/workflows/src/recordings', 'apps/worker/src'];
    const files = folders.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
    );
    const texts = files
      .filter((file) => /(?<!\.spec|\.harness)\.(ts|py)$/.test(file))
      .map((file) => readFileSync(file, 'utf8'));
    const codes = Object.keys(runErrorCodes) as RunErrorCode[];
    expect(codes.filter((code) => !texts.some((text) => text.match(`['"]${code}['"]`)))).toEqual([]);
  });

  it('the parts of a result that a worker reports as incomplete are stored even if the run has ended', async () => {
    const reporter = { organizationId: fixture.organizationId, agentId: null };
    const incomplete = [{ kind: 'run_summary', reason: 'summary of the batch b: answered 400' }];
    const read = (id: string) => findJob(fixture.harness.db, fixture.organizationId, id);
    for (const first of ['completed', 'cancelled'] as const) {
      const jobId = await fixture.dispatched();
      expect((await read(jobId)).incomplete).toEqual([]);
      if (first === 'cancelled') await applyJobReport(fixture.harness.db, reporter, { jobId, status: first });
      await applyJobReport(fixture.harness.db, reporter, { jobId, status: 'completed', incomplete });
      await applyJobReport(fixture.harness.db, reporter, {
        jobId,
        status: 'completed',
        incomplete: [...incomplete, ...incomplete],
      });
      expect(await read(jobId)).toMatchObject({ status: first, incomplete });
    }
  });

  it.each([
    ['failed', undefined, 'script_failed'],
    ['failed', 'No Word', 'script_failed'],
    ['failed', 'execution_timeout', 'execution_timeout'],
    ['failed', 'portal_down', 'portal_down'],
    ['cancelled', 'portal_down', 'cancelled'],
    ['completed', 'portal_down', null],
  ] as const)('a run reported as %s with the code %s is stored with the code %s', async (status, errorCode, stored) => {
    const jobId = await fixture.dispatched();
    await applyJobReport(
      fixture.harness.db,
      { organizationId: fixture.organizationId, agentId: null },
      { jobId, status, errorCode },
    );
    expect(await findJob(fixture.harness.db, fixture.organizationId, jobId)).toMatchObject({
      status,
      errorCode: stored,
    });
  });
});
