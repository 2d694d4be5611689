import { type SyncParts, syncWorkItem } from '@muster/feedback';
import { FakeTrackers } from '@muster/testing';
import { Trackers } from '@muster/trackers';
import { startFeedbackSync } from './feedback-sync.harness';
import { FeedbackWork } from './feedback-work';

/** Returns a tracker with some of its methods replaced. */
function overrideTrackerCalls<T extends object>(tracker: T, calls: Partial<T>): T {
  return new Proxy(tracker, {
    get: (target, name) => {
      const value = Reflect.get(calls, name) ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('the creation of an issue and a task', () => {
  let trackers: FakeTrackers;
  let off: Awaited<ReturnType<typeof startFeedbackSync>>;
  let parts: SyncParts;

  beforeAll(async () => {
    trackers = await FakeTrackers.start();
    // The loops are off, so the test decides when a sync runs.
    off = await startFeedbackSync({ env: { ...trackers.environment, FEEDBACK_AUTOMATION_ENABLED: 'false' } });
    const configured = off.harness.app.nest.get(FeedbackWork).parts;
    parts = { ...configured, trackers: off.harness.app.nest.get(Trackers).configured };
  });
  afterAll(async () => {
    await off.harness.close();
    await trackers.close();
    expect(trackers.faults).toEqual([]);
  });

  /** Lets the leases of work items and of creations expire, as they do for a process that is suspended. */
  const expireLeasesAndClaims = async () => {
    await off.sql(`UPDATE feedback_work_item SET leased_until = leased_until - interval '1 hour'`);
    await off.sql(`UPDATE feedback_link SET claimed_at = claimed_at - interval '1 hour'`);
  };
  const freezeTrackerAfterSearch = (name: 'codehost' | 'tasktracker', afterSearch: () => Promise<unknown>) =>
    parts.trackers.map((tracker) => {
      if (tracker.name !== name) return tracker;
      return overrideTrackerCalls(tracker, {
        findItem: async (...args: Parameters<typeof tracker.findItem>) => {
          const found = await tracker.findItem(...args);
          await afterSearch();
          return found;
        },
      });
    });
  const countTrackerItems = (id: string) => [trackers.listIssuesOf(id).length, trackers.listTasksOf(id).length];

  it.each(['codehost', 'tasktracker'] as const)(
    'a sync creates no item at the %s if another sync took over after the search for the item',
    async (name) => {
      const id = await off.submitFeedback();
      const slow = freezeTrackerAfterSearch(name, async () => {
        await expireLeasesAndClaims();
        expect(await syncWorkItem(parts, id)).toBe('synced');
        expect(countTrackerItems(id)).toEqual([1, 1]);
      });
      expect(await syncWorkItem({ ...parts, trackers: slow }, id)).toBeNull();
      expect(countTrackerItems(id)).toEqual([1, 1]);
      const links = await off.sql('SELECT * FROM feedback_link WHERE submission_id = $1', [id]);
      for (const link of links) expect(link).toMatchObject({ attempts: 0, error: null, deadAt: null, claimedAt: null });
    },
  );

  it('a sync creates no item at a tracker if another sync holds the lease of the feedback', async () => {
    const id = await off.submitFeedback();
    const taken = freezeTrackerAfterSearch('codehost', async () => {
      await off.sql('UPDATE feedback_work_item SET lease = gen_random_uuid() WHERE submission_id = $1', [id]);
    });
    expect(await syncWorkItem({ ...parts, trackers: taken }, id)).toBeNull();
    expect(countTrackerItems(id)).toEqual([0, 0]);
    await expireLeasesAndClaims();
    expect(await syncWorkItem(parts, id)).toBe('synced');
    expect(countTrackerItems(id)).toEqual([1, 1]);
  });

  it('a sync keeps its lease during a long search for the item that an earlier attempt created', async () => {
    const id = await off.submitFeedback();
    let others = 0;
    const slow = parts.trackers.map((tracker) =>
      overrideTrackerCalls(tracker, {
        findItem: (marker: string, since: Date, beforePage: () => Promise<void>) =>
          tracker.findItem(marker, since, async () => {
            await expireLeasesAndClaims();
            await beforePage();
            if ((await syncWorkItem(parts, id)) !== null) others += 1;
          }),
      }),
    );
    expect(await syncWorkItem({ ...parts, trackers: slow }, id)).toBe('synced');
    expect([others, countTrackerItems(id)]).toEqual([0, [1, 1]]);
  });
});
