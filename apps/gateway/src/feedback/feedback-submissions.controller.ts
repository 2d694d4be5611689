import { Body, Controller, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Caller,
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  type Principal,
  allowSessionsAndKeys,
  allowSessions,
} from '@muster/access';
import {
  AppError,
  FeedbackAgentList,
  FeedbackFilter,
  FeedbackForm,
  FeedbackReceipt,
  FeedbackSubmissionDetail,
  FeedbackSubmissionList,
  UpdateFeedbackBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import {
  changeStatus,
  createSubmission,
  findSubmission,
  listAttachableAgents,
  listSubmissions,
  loadSubmission,
  maxScreenshotBytes,
  presentSubmission,
  presentSubmissionDetail,
  type Screenshot,
} from '@muster/feedback';
import { Clock, FormOrJson, Given, newId, parsePage, buildPage } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { readFeedbackForm } from './read-feedback-form';

/** Maximum size of the form in bytes: the screenshot, the payload and the multipart overhead. */
const maxFormBytes = maxScreenshotBytes + 256 * 1024;

@ApiTags('Feedback')
@Controller('/api')
export class FeedbackSubmissionsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Post('/feedback-submissions')
  @Endpoint({
    summary: 'Report a bug, feature request or workflow issue',
    description:
      'Send multipart/form-data with the report as JSON in `payload` and, if there is one, an image in `screenshot`. ' +
      'A workflow_issue_report cannot have a screenshot.',
    access: allowSessionsAndKeys('feedback.write'),
    form: FeedbackForm,
    bodyLimit: maxFormBytes,
    answer: FeedbackReceipt,
    status: 201,
    errors: ['not_found', 'agent_not_found', 'job_not_found'],
  })
  async create(
    @Mutation() mutation: MutationRequest,
    @OrganizationId() organizationId: string,
    @Given() input: FormOrJson,
  ): Promise<FeedbackReceipt> {
    const { report, screenshot } = await readFeedbackForm(input);
    const id = newId();
    return this.withStoredScreenshot(screenshot, `organizations/${organizationId}/feedback/${id}`, (screenshotKey) =>
      this.mutations.runMutation(mutation, async (tx, caller) => {
        const row = await createSubmission(tx, caller, { id, report, screenshotKey });
        const { type, status, createdAt } = row;
        return {
          body: { id, type, status, createdAt: createdAt.toISOString() },
          location: `/api/feedback-submissions/${id}`,
        };
      }),
    );
  }

  @Get('/feedback-submissions')
  @Endpoint({
    summary: 'List submissions, newest first',
    description:
      'An admin sees all submissions of the organization. Other callers see only the submissions that they sent.',
    access: allowSessionsAndKeys('feedback.read'),
    answer: FeedbackSubmissionList,
  })
  async list(@Caller() caller: Principal, @Query() query: FeedbackFilter): Promise<FeedbackSubmissionList> {
    const page = parsePage(query, 'id');
    const rows = await listSubmissions(this.database, caller, { page, filter: query });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    const submissions = await Promise.all(items.map((row) => presentSubmission(row, this.getPresignOptions())));
    return { submissions, nextCursor };
  }

  @Get('/feedback-submissions/:id')
  @Endpoint({
    summary: 'Read a submission with its history',
    access: allowSessionsAndKeys('feedback.read'),
    answer: FeedbackSubmissionDetail,
    errors: ['not_found'],
  })
  async read(@Caller() caller: Principal, @Param('id') id: string): Promise<FeedbackSubmissionDetail> {
    return presentSubmissionDetail(await findSubmission(this.database, caller, id), this.getPresignOptions());
  }

  @Patch('/feedback-submissions/:id')
  @Endpoint({
    summary: 'Change a submission’s status',
    description: 'The new status is also synchronized to the trackers that the submission is linked to.',
    access: allowSessions('feedback.admin'),
    body: UpdateFeedbackBody,
    answer: FeedbackSubmissionDetail,
    errors: ['not_found'],
  })
  update(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() { status }: UpdateFeedbackBody,
  ): Promise<FeedbackSubmissionDetail> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await changeStatus(tx, caller, { id, status, now: this.clock.now() });
      return { body: await presentSubmissionDetail(await loadSubmission(tx, caller, id), this.getPresignOptions()) };
    });
  }

  @Get('/feedback/agents')
  @Endpoint({
    summary: 'List the agents that a feedback report can refer to',
    description: 'Terminated agents are not included.',
    access: allowSessionsAndKeys('feedback.read'),
    answer: FeedbackAgentList,
  })
  async agents(@OrganizationId() organizationId: string): Promise<FeedbackAgentList> {
    return { agents: await listAttachableAgents(this.database, organizationId) };
  }

  private getPresignOptions() {
    return { storage: this.storage, now: this.clock.now() };
  }

  /** Stores the screenshot before `make` creates the submission, and deletes the screenshot again if `make` fails. */
  private async withStoredScreenshot<T>(
    screenshot: Screenshot | null,
    path: string,
    make: (screenshotKey: string | null) => Promise<T>,
  ): Promise<T> {
    if (!screenshot) return make(null);
    const key = `${path}.${screenshot.kind}`;
    await this.storage.put(key, screenshot.bytes, `image/${screenshot.kind}`).catch((cause: unknown) => {
      throw new AppError('service_unavailable', {
        detail: 'The screenshot could not be stored. Try again later.',
        cause,
      });
    });
    try {
      return await make(key);
    } catch (error) {
      await this.storage.delete(key).catch(() => undefined);
      throw error;
    }
  }
}
