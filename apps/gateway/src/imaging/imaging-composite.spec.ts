import { type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { ObjectStorage } from '@muster/storage';
import { gateway } from '../gateway.harness';

describe('a finished composite', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const makeEndedComposite = async (status: 'success' | 'failed') => {
    const { organizationId } = tenant;
    const { id } = await makeAgent(harness.db, { organizationId, name: status, status: 'online' });
    const request = await tenant.api.post(`/api/agents/${id}/imaging-composite`, { patientLookup: '1234', teeth: [3] });
    const { commandId } = request.body;
    const code = status === 'failed' ? 'patient_not_found' : null;
    await harness.db.query('system', 'UPDATE agent_command SET status = $2, error_code = $3 WHERE id = $1', [
      commandId,
      status,
      code,
    ]);
    return async () =>
      (await tenant.api.get(`/api/agents/${id}/imaging-composite/status?commandId=${commandId}`)).body as object;
  };

  it('a finished imaging composite gets a new signed URL for each read, and null if signing fails', async () => {
    const read = await makeEndedComposite('success');
    expect(await read()).toEqual({ status: 'success', compositeUrl: expect.stringMatching(/^http/) });
    const storage = harness.app.nest.get(ObjectStorage);
    const sign = jest.spyOn(storage, 'presignGet').mockRejectedValueOnce(new Error('the store is gone'));
    expect(await read()).toEqual({ status: 'success', compositeUrl: null });
    sign.mockRestore();
    expect(await read()).toEqual({ status: 'success', compositeUrl: expect.stringMatching(/^http/) });
  });

  it('a failed imaging composite has no URL', async () => {
    const read = await makeEndedComposite('failed');
    expect(await read()).toEqual({ status: 'failed', code: 'patient_not_found' });
  });
});
