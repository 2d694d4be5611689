import { checkPlacementModel } from './placement-model.harness';
import { PlacementFixture } from '../placement.harness';

jest.setTimeout(60_000);

describe('the rules of placement', () => {
  let fixture: PlacementFixture;

  beforeAll(async () => {
    fixture = await PlacementFixture.openFixture();
  });
  afterAll(() => fixture.closeFixture());

  it('the rules of placement hold after random launches, ends, wakes, drains and changes of keys and accounts', async () => {
    const done = await checkPlacementModel(fixture, { runs: 8, length: 14, seed: 20 });
    expect(done['started']).toBeGreaterThan(10);
    expect(done['woken']).toBeGreaterThan(0);
  });
});
