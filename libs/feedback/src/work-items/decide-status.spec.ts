import type { FeedbackStatus } from '@muster/contracts';
import { decideStatus, type Observation } from './decide-status';

const at = (second: number) => new Date(Date.UTC(2026, 2, 2, 9, 0, second));
const shows = (status: FeedbackStatus, second: number, more: Partial<Observation> = {}): Observation => ({
  ...{ tracker: 'codehost', status, changedAt: at(second), clockStepMs: 1 },
  ...{ seenStatus: 'triaged', writingStatus: null },
  ...more,
});
const task = (status: FeedbackStatus, second: number, more: Partial<Observation> = {}) =>
  shows(status, second, { tracker: 'tasktracker', ...more });

describe('the status of feedback', () => {
  const ours = { status: 'triaged' as const, statusAt: at(10) };

  it('is what a tracker shows that changed later than it, by the tracker’s own time', () => {
    expect(decideStatus(ours, [shows('resolved', 11)])).toEqual({ status: 'resolved', at: at(11), source: 'codehost' });
    expect(decideStatus(ours, [shows('resolved', 9)])).toBeNull();
    expect(decideStatus({ ...ours, status: 'in_progress' }, [shows('resolved', 10)])).toBeNull();
  });

  it.each([
    [12, 11, 'resolved', 'codehost'],
    [11, 12, 'in_progress', 'tasktracker'],
  ])('is the later one’s of two that changed, at %d and %d', (issueAt, taskAt, status, source) => {
    const both = [shows('resolved', issueAt), task('in_progress', taskAt)];
    expect(decideStatus(ours, both)).toMatchObject({ status, source });
    expect(decideStatus(ours, both.toReversed())).toMatchObject({ status, source });
  });

  it('stays where a tracker shows what was seen before, however late', () => {
    expect(decideStatus({ ...ours, status: 'resolved' }, [shows('triaged', 99)])).toBeNull();
  });

  it('stays where a tracker shows what we have sent: an echo is no change of theirs', () => {
    expect(decideStatus(ours, [shows('resolved', 99, { writingStatus: 'resolved' })])).toBeNull();
    expect(decideStatus(ours, [shows('rejected', 99, { writingStatus: 'resolved' })])).toMatchObject({
      status: 'rejected',
    });
  });

  it('stays where a tracker shows it as well as it has a word for it', () => {
    for (const each of [shows, task]) {
      expect(decideStatus({ status: 'closed', statusAt: at(0) }, [each('resolved', 99)])).toBeNull();
      const rejected = { status: 'rejected' as const, statusAt: at(0) };
      expect(decideStatus(rejected, [each('resolved', 99)])).toMatchObject({ status: 'resolved' });
      expect(decideStatus(rejected, [each('resolved', 99, { seenStatus: 'resolved' })])).toBeNull();
    }
  });

  it('is theirs where a coarse clock cannot say which is later, and theirs was in step with ours before', () => {
    const coarse = { clockStepMs: 1000 };
    const statusAt = new Date(at(10).getTime() + 900);
    for (const status of ['triaged', 'in_progress'] as const) {
      const step = { ...coarse, seenStatus: status };
      const decided = decideStatus({ status, statusAt }, [shows('resolved', 10, step)]);
      expect(decided).toEqual({ status: 'resolved', at: statusAt, source: 'codehost' });
      expect(decideStatus({ status, statusAt }, [shows('resolved', 9, step)])).toBeNull();
    }
    expect(decideStatus({ status: 'in_progress', statusAt }, [shows('resolved', 10, coarse)])).toBeNull();
  });

  it('is the first tracker’s word while nobody has said anything, also with a clock behind ours', () => {
    const received = { status: 'received' as const, statusAt: at(10) };
    const fresh = { seenStatus: null };
    expect(decideStatus(received, [shows('triaged', 1, fresh)])).toMatchObject({ status: 'triaged', at: at(1) });
    // That the task is open, as it was made, stands against nothing.
    const touched = [shows('in_progress', 1, fresh), task('triaged', 2, fresh)];
    expect(decideStatus(received, touched)).toMatchObject({ status: 'in_progress', source: 'codehost' });
    // Somebody has set it before the issue was made: a new issue is open, and says nothing against that.
    const set = { status: 'resolved' as const, statusAt: at(10) };
    expect(decideStatus(set, [shows('triaged', 99, { seenStatus: null })])).toBeNull();
  });
});
