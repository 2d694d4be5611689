import type { FeedbackStatus } from '@muster/contracts';
import { decideSubmissionStatus, type Observation } from './decide-status';

const atSecond = (second: number) => new Date(Date.UTC(2026, 2, 2, 9, 0, second));
const makeIssueObservation = (
  status: FeedbackStatus,
  second: number,
  more: Partial<Observation> = {},
): Observation => ({
  ...{ tracker: 'codehost', status, changedAt: atSecond(second), clockStepMs: 1 },
  ...{ seenStatus: 'triaged', writingStatus: null },
  ...more,
});
const makeTaskObservation = (status: FeedbackStatus, second: number, more: Partial<Observation> = {}) =>
  makeIssueObservation(status, second, { tracker: 'tasktracker', ...more });

describe('the status of feedback', () => {
  const stored = { status: 'triaged' as const, statusAt: atSecond(10) };

  it('the status of feedback becomes a tracker’s status if the tracker’s change was later', () => {
    expect(decideSubmissionStatus(stored, [makeIssueObservation('resolved', 11)])).toEqual({
      status: 'resolved',
      at: atSecond(11),
      source: 'codehost',
    });
    expect(decideSubmissionStatus(stored, [makeIssueObservation('resolved', 9)])).toBeNull();
    expect(
      decideSubmissionStatus({ ...stored, status: 'in_progress' }, [makeIssueObservation('resolved', 10)]),
    ).toBeNull();
  });

  it.each([
    [12, 11, 'resolved', 'codehost'],
    [11, 12, 'in_progress', 'tasktracker'],
  ])(
    'feedback gets the later status of its issue’s change at second %d and its task’s change at second %d',
    (issueAt, taskAt, status, source) => {
      const both = [makeIssueObservation('resolved', issueAt), makeTaskObservation('in_progress', taskAt)];
      expect(decideSubmissionStatus(stored, both)).toMatchObject({ status, source });
      expect(decideSubmissionStatus(stored, both.toReversed())).toMatchObject({ status, source });
    },
  );

  it('the status of feedback stays if the tracker’s status has not changed since the last observation', () => {
    expect(decideSubmissionStatus({ ...stored, status: 'resolved' }, [makeIssueObservation('triaged', 99)])).toBeNull();
  });

  it('the status of feedback stays if the tracker shows the status that the sync has written', () => {
    expect(
      decideSubmissionStatus(stored, [makeIssueObservation('resolved', 99, { writingStatus: 'resolved' })]),
    ).toBeNull();
    expect(
      decideSubmissionStatus(stored, [makeIssueObservation('rejected', 99, { writingStatus: 'resolved' })]),
    ).toMatchObject({
      status: 'rejected',
    });
  });

  it('the status of feedback stays if a tracker shows the closest equivalent status that the tracker has', () => {
    for (const each of [makeIssueObservation, makeTaskObservation]) {
      expect(decideSubmissionStatus({ status: 'closed', statusAt: atSecond(0) }, [each('resolved', 99)])).toBeNull();
      const rejected = { status: 'rejected' as const, statusAt: atSecond(0) };
      expect(decideSubmissionStatus(rejected, [each('resolved', 99)])).toMatchObject({ status: 'resolved' });
      expect(decideSubmissionStatus(rejected, [each('resolved', 99, { seenStatus: 'resolved' })])).toBeNull();
    }
  });

  it('a tracker’s change in the same step of a coarse clock wins if the tracker had shown the stored status', () => {
    const coarse = { clockStepMs: 1000 };
    const statusAt = new Date(atSecond(10).getTime() + 900);
    for (const status of ['triaged', 'in_progress'] as const) {
      const step = { ...coarse, seenStatus: status };
      const decided = decideSubmissionStatus({ status, statusAt }, [makeIssueObservation('resolved', 10, step)]);
      expect(decided).toEqual({ status: 'resolved', at: statusAt, source: 'codehost' });
      expect(decideSubmissionStatus({ status, statusAt }, [makeIssueObservation('resolved', 9, step)])).toBeNull();
    }
    expect(
      decideSubmissionStatus({ status: 'in_progress', statusAt }, [makeIssueObservation('resolved', 10, coarse)]),
    ).toBeNull();
  });

  it('received feedback gets the first status that a tracker shows, even if the tracker’s clock is behind', () => {
    const received = { status: 'received' as const, statusAt: atSecond(10) };
    const unobserved = { seenStatus: null };
    expect(decideSubmissionStatus(received, [makeIssueObservation('triaged', 1, unobserved)])).toMatchObject({
      status: 'triaged',
      at: atSecond(1),
    });
    // A task that is open since its creation does not compete with the change.
    const touched = [makeIssueObservation('in_progress', 1, unobserved), makeTaskObservation('triaged', 2, unobserved)];
    expect(decideSubmissionStatus(received, touched)).toMatchObject({ status: 'in_progress', source: 'codehost' });
    // A person set the status before the issue was created. A new issue is open, which does not change the status.
    const set = { status: 'resolved' as const, statusAt: atSecond(10) };
    expect(decideSubmissionStatus(set, [makeIssueObservation('triaged', 99, { seenStatus: null })])).toBeNull();
  });
});
