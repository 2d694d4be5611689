import { type Harness, startHarness } from '@muster/testing';
import { gateway } from '../gateway.harness';

const path = '/api/organization/settings';

describe('retention settings', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness(gateway);
  });
  afterAll(() => harness.close());

  const fields = [
    'logRetentionDays',
    'timelineRetentionDays',
    'stepRetentionDays',
    'claimRetentionDays',
    'usageRetentionDays',
    'costRetentionDays',
  ];

  it.each(fields)('the setting %s accepts 1 to 36,500 days and null, which retains rows forever', async (field) => {
    const { as } = await harness.makeTenant();
    const before = (await as.admin.get(path)).body;
    for (const value of [1, 36_500, null]) {
      const changed = await as.admin.patch(path, { [field]: value });
      expect([changed.status, changed.body]).toEqual([200, { ...before, [field]: value }]);
      expect((await as.admin.get(path)).body).toEqual(changed.body);
    }
  });

  it.each(fields)(
    'a value of %s that is not a whole number from 1 to 36,500 is refused and changes nothing',
    async (field) => {
      const { as } = await harness.makeTenant();
      await as.admin.patch(path, { [field]: 7 });
      const before = await as.admin.get(path);
      for (const value of [0, -1, 36_501, 1.5, '30', '', true, [30], {}]) {
        const refused = await as.admin.patch(path, { [field]: value, idleStopMinutes: 45 });
        expect([value, refused.status, refused.body.code]).toEqual([value, 400, 'invalid_payload']);
        expect(refused.body.errors).toEqual([{ field, message: expect.stringContaining(field) }]);
      }
      const after = await as.admin.get(path);
      expect([after.body, after.headers.get('etag')]).toEqual([before.body, before.headers.get('etag')]);
    },
  );
});
