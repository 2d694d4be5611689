import type { FeedbackStatus } from '@muster/contracts';
import { decideStatus, type Observation } from './decide-status';

const at = (second: number) => new Date(Date.UTC(2026, 2, 2, 9, 0, second));
const shows = (status: FeedbackStatus, second: number, more: Partial<Observation> = {}): Observation => ({
  ...{ tracker: 'codehost', status, changedAt: at(second), seenStatus: 'triaged', writingStatus: null },
  ...more,
});
const task = (status: FeedbackStatus, second: number, more: Partial<Observation> = {}) =>
  shows(status, second, { tracker: 'tasktracker', ...more });

describe('the status of feedback', () => {
  const ours = { status: 'triaged' as const, statusAt: at(10) };

  it('is what a tracker shows that changed later than it, by the tracker’s own time', () => {
    expect(decideStatus(ours, [shows('resolved', 11)])).toEqual({ status: 'resolved', at: at(11), source: 'codehost' });
    expect(decideStatus(ours, [shows('resolved', 9)])).toBeNull();
    expect(decideStatus(ours, [shows('resolved', 10)])).toBeNull();
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
    for (const status of ['closed', 'rejected'] as const) {
      expect(decideStatus({ status, statusAt: at(0) }, [task('resolved', 99)])).toBeNull();
    }
    expect(decideStatus({ status: 'rejected', statusAt: at(0) }, [shows('resolved', 99)])).toMatchObject({
      status: 'resolved',
    });
  });

  it('is the first tracker’s word while nobody has said anything, also with a clock behind ours', () => {
    const received = { status: 'received' as const, statusAt: at(10) };
    expect(decideStatus(received, [shows('triaged', 1, { seenStatus: null })])).toMatchObject({ status: 'triaged' });
    // Somebody has set it before the issue was made: a new issue is open, and says nothing against that.
    const set = { status: 'resolved' as const, statusAt: at(10) };
    expect(decideStatus(set, [shows('triaged', 99, { seenStatus: null })])).toBeNull();
  });
});
