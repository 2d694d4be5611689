// This test is long because it runs hundreds of random sequences against a real database.
// A short test of the same code: libs/jobs/src/placement/model/placement-model.spec.ts
import { chooseSize } from '@muster/testing';
import { checkPlacementModel } from './placement-model.harness';
import { PlacementFixture } from '../placement.harness';

jest.setTimeout(1_800_000);

const runs = chooseSize('PLACEMENT_MODEL_RUNS', { short: 200, long: 200 });

describe('the rules of placement, with hundreds of seeds', () => {
  let fixture: PlacementFixture;

  beforeAll(async () => {
    fixture = await PlacementFixture.openFixture();
  });
  afterAll(() => fixture.closeFixture());

  it('the rules of placement hold after each step of long random sequences', async () => {
    const done = await checkPlacementModel(fixture, { runs, length: 30 });
    expect(Object.values(done).every((count) => count > 0)).toBe(true);
    expect(done['started']).toBeGreaterThan(runs);
  });
});
