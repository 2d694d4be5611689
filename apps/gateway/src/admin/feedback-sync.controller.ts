import { Controller, Get, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { audit, Endpoint, Mutation, MutationRequest, Mutations, allowSessions } from '@muster/access';
import { AppError, FeedbackSync, SuccessAnswer, type TrackerName, trackerNames } from '@muster/contracts';
import { Database } from '@muster/database';
import { FeedbackConfig, readSyncState, replayFailedSync } from '@muster/feedback';

/** The synchronization of feedback with the trackers, and the replay of submissions that failed permanently. */
@ApiTags('Feedback')
@Controller('/api/admin/feedback/sync')
export class FeedbackSyncController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(FeedbackConfig) private readonly config: FeedbackConfig,
  ) {}

  @Get()
  @Endpoint({
    summary: 'Read the state of the tracker synchronization',
    description:
      'Returns how many submissions wait for a tracker and which ones failed permanently (the 200 oldest). For each ' +
      'tracker, it returns whether the synchronization is stopped and why.',
    access: allowSessions('platform.admin'),
    answer: FeedbackSync,
  })
  async read(): Promise<FeedbackSync> {
    const { stops, pending, dead, lastReconciledAt } = await readSyncState(
      this.database,
      trackerNames.filter((name) => this.config.configuredTrackers[name]),
    );
    const readTrackerState = (name: TrackerName) => {
      const stop = stops.find(({ tracker }) => tracker === name);
      return {
        configured: this.config.configuredTrackers[name],
        stopped: stop ? { since: stop.stoppedAt.toISOString(), reason: stop.reason ?? '' } : null,
      };
    };
    return {
      enabled: this.config.feedbackAutomation,
      codehost: readTrackerState('codehost'),
      tasktracker: readTrackerState('tasktracker'),
      pending,
      dead: dead.map(({ deadAt, error, ...each }) => ({ ...each, error: error ?? '', since: deadAt.toISOString() })),
      lastReconciledAt: lastReconciledAt?.toISOString() ?? null,
    };
  }

  @Post('/:id/replay')
  @Endpoint({
    summary: 'Retry a permanently failed synchronization',
    description: 'Queues the synchronization of the submission again and counts its attempts from 0.',
    access: allowSessions('platform.admin'),
    answer: SuccessAnswer,
    status: 202,
    errors: ['not_found'],
  })
  replay(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<SuccessAnswer> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        const replayed = await replayFailedSync(tx, id);
        if (!replayed)
          throw new AppError('not_found', {
            detail: 'There is no failed synchronization with this id. List them with GET /api/admin/feedback/sync.',
          });
        const { submissionId } = replayed;
        audit(tx, caller, {
          action: 'feedback.replay',
          target: { type: 'feedback_submission', id: submissionId },
          changes: { link: id },
        });
        return { body: { success: true }, location: '/api/admin/feedback/sync' };
      },
      { scope: 'system' },
    );
  }
}
