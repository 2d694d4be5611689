import type { Principal } from '@muster/access';
import type { ModelPriceInput } from '@muster/contracts';
import { DatabaseModule, acquireAdvisoryLock, type Transaction } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { listDefaultModelPrices, replaceDefaultModelPrices, replaceModelPrices } from './model-price-lists';

describe('a list of model prices', () => {
  let harness: Harness;
  let organizationId: string;
  let caller: Principal;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    ({ id: organizationId } = await makeOrganization(harness.db));
    caller = { kind: 'user', id: newId(), email: 'admin@practice.example', organizationId } as Principal;
  });
  afterAll(() => harness.close());

  const makePriceList = (inputUsdPerMillion: number): ModelPriceInput[] => [
    { provider: 'openai', model: 'm', from: '2026-01-01', inputUsdPerMillion, outputUsdPerMillion: 1 },
  ];
  /** Starts two replacements of the list with this revision, which wait for the lock. */
  const replaceTwice = (
    locked: string[],
    replace: (tx: Transaction, prices: ModelPriceInput[]) => Promise<unknown>,
  ): Promise<string[]> =>
    runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, ...locked),
      () =>
        [1, 2].map((usd) =>
          harness.db
            .transaction('system', (tx) => replace(tx, makePriceList(usd)))
            .then(
              () => 'replaced',
              ({ code }: { code: string }) => code,
            ),
        ),
    );

  it('only one of two conditional replacements of an organization’s prices succeeds', async () => {
    const { revision } = await harness.db.transaction('system', (tx) =>
      replaceModelPrices(tx, caller, makePriceList(3), undefined),
    );
    const outcomes = await replaceTwice(['model_price', organizationId], (tx, prices) =>
      replaceModelPrices(tx, caller, prices, `"${revision}"`),
    );
    expect(outcomes.sort()).toEqual(['precondition_failed', 'replaced']);
  });

  it('only one of two conditional replacements of the default prices succeeds', async () => {
    const { revision } = await listDefaultModelPrices(harness.db);
    const outcomes = await replaceTwice(['default_model_price'], (tx, prices) =>
      replaceDefaultModelPrices(tx, caller, prices, `"${revision}"`),
    );
    expect(outcomes.sort()).toEqual(['precondition_failed', 'replaced']);
  });
});
