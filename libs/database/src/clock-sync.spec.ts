import { BaseConfig, Clock } from '@muster/platform';
import { type Harness, makeOrganization, startHarness } from '@muster/testing';
import { DatabaseModule } from './database.module';

const hourMs = 3_600_000;

describe.each([
  ['an hour ahead of', hourMs],
  ['an hour behind', -hourMs],
])("a process whose machine's clock is %s the database's", (_case, offMs) => {
  let harness: Harness;

  beforeAll(async () => {
    const { now } = Date;
    jest.spyOn(Date, 'now').mockImplementation(() => now() + offMs);
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await harness.close();
  });

  it('the clock of a process and the dates of its new rows follow the database, not the machine', async () => {
    const { id } = await makeOrganization(harness.db);
    const [row] = await harness.db.query<{ createdAt: Date; databaseTime: Date }>(
      'system',
      'SELECT created_at, clock_timestamp() AS database_time FROM organization WHERE id = $1',
      [id],
    );
    const { createdAt, databaseTime } = row!;
    expect(Math.abs(databaseTime.getTime() - createdAt.getTime())).toBeLessThan(30_000);
    expect(Math.abs(databaseTime.getTime() - harness.app.nest.get(Clock).now().getTime())).toBeLessThan(30_000);
  });
});
