import { AppIdentity, BaseConfig } from '@muster/platform';
import { type Harness, startHarness } from '@muster/testing';
import { DatabaseModule } from './database.module';

describe('DatabaseModule', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('the database connections of a process have the name and version of its app', async () => {
    const { version } = harness.app.nest.get(AppIdentity);
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
    expect(await harness.db.query('system', "SELECT current_setting('application_name') AS name")).toEqual([
      { name: `muster-gateway ${version}` },
    ]);
  });
});
