import { DatabaseModule, acquireAdvisoryLock } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import { runBehindLock, type Harness, startHarness } from '@muster/testing';
import { bootstrapOrganization } from './bootstrap-organization';

describe('bootstrapOrganization', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('processes that start at the same time create the first organization once', async () => {
    const bootstrap = () => bootstrapOrganization(harness.db, undefined as never, { organization: 'Practice' });
    const created = await runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, 'bootstrap'),
      () => [bootstrap(), bootstrap()],
    );
    expect(created.sort()).toEqual([false, true]);
  });
});
