import { Body, Controller, Delete, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Endpoint,
  IfMatch,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  allowSessionsAndKeys,
} from '@muster/access';
import {
  invalidFieldError,
  ConfirmStepBody,
  CreateWorkflowBody,
  PageQuery,
  RevisionDiff,
  RevisionDiffQuery,
  SaveWorkflowBody,
  UpdateWorkflowBody,
  UploadWorkflowBody,
  UploadWorkflowForm,
  Workflow,
  WorkflowList,
  WorkflowQuery,
  WorkflowRevisionList,
} from '@muster/contracts';
import { Database, getPositionValues } from '@muster/database';
import { toEtag, FormOrJson, Given, parsePage, buildPage, Reply, ReplyHead } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import {
  archiveWorkflow,
  markStepReviewed,
  compareRevisions,
  createWorkflow,
  findWorkflow,
  storeScreenshotsWhile,
  listRevisions,
  listWorkflows,
  parseWorkflowOrder,
  maxRecordingBytes,
  prepareRecordingUpload,
  restoreRevision,
  saveWorkflow,
  createWorkflowFromUpload,
  updateWorkflow,
  type WorkflowRow,
} from '@muster/workflows';
import { presentWorkflowSummary, presentWorkflow } from './present-workflow';
import { parseUploadRequest } from './read-upload';

@ApiTags('Workflows')
@Controller('/api/workflows')
export class WorkflowsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List workflows',
    access: allowSessionsAndKeys('workflows.read'),
    answer: WorkflowList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: WorkflowQuery): Promise<WorkflowList> {
    const { q, sort } = query;
    const page = parsePage(query, ...parseWorkflowOrder(sort).cursor);
    const rows = await listWorkflows(this.database, organizationId, { page, q, sort });
    const { items, nextCursor } = buildPage(rows, page, getPositionValues);
    return { workflows: items.map(presentWorkflowSummary), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create a workflow',
    access: allowSessionsAndKeys('workflows.write'),
    body: CreateWorkflowBody,
    answer: Workflow,
    status: 201,
    etag: 'read',
    errors: ['not_found'],
    idempotent: true,
  })
  create(@Mutation() mutation: MutationRequest, @Body() body: CreateWorkflowBody): Promise<Workflow> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const row = await createWorkflow(tx, caller, body);
      return { ...(await this.presentWorkflow(caller, row)), location: `/api/workflows/${row.id}` };
    });
  }

  @Post('/upload')
  @Endpoint({
    summary: 'Create a workflow from a recording',
    description:
      'Stores the steps of the recording and generates a Python script that replays them in a headless Chromium on ' +
      'the agent. A {{NAME}} in typed text or in an opened address becomes a variable of the workflow. A password ' +
      'that was typed in a recorded browser becomes a variable that each run must provide as a vault key.',
    access: allowSessionsAndKeys('workflows.write'),
    body: UploadWorkflowBody,
    form: UploadWorkflowForm,
    bodyLimit: maxRecordingBytes,
    answer: Workflow,
    status: 201,
    etag: 'read',
    errors: ['not_found', 'conflict'],
    idempotent: true,
  })
  async upload(
    @Mutation() mutation: MutationRequest,
    @OrganizationId() organizationId: string,
    @Given() input: FormOrJson,
  ): Promise<Workflow> {
    const { database, storage } = this;
    const { recording, name } = await parseUploadRequest(input, { database, storage, organizationId });
    const prepared = prepareRecordingUpload(recording, { organizationId, name });
    return storeScreenshotsWhile(this.storage, prepared, () =>
      this.mutations.runMutation(mutation, async (tx, caller) => {
        const row = await createWorkflowFromUpload(tx, caller, prepared);
        return { ...(await this.presentWorkflow(caller, row)), location: `/api/workflows/${row.id}` };
      }),
    );
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read a workflow with its script and steps',
    access: allowSessionsAndKeys('workflows.read'),
    answer: Workflow,
    errors: ['invalid_payload', 'not_found'],
    etag: 'read',
  })
  async read(
    @Reply() reply: ReplyHead,
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
  ): Promise<Workflow> {
    const row = await findWorkflow(this.database, organizationId, id);
    reply.setEtag(row.version);
    return presentWorkflow(this.storage, organizationId, row);
  }

  @Post('/:id/save')
  @Endpoint({
    summary: 'Save a workflow as a new revision',
    description: 'The body contains the script, steps or variables that change.',
    access: allowSessionsAndKeys('workflows.write'),
    body: SaveWorkflowBody,
    answer: Workflow,
    errors: ['not_found'],
    etag: 'change',
  })
  save(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() body: SaveWorkflowBody,
    @IfMatch() ifMatch?: string,
  ): Promise<Workflow> {
    return this.mutations.runMutation(mutation, async (tx, caller) =>
      this.presentWorkflow(caller, await saveWorkflow(tx, caller, id, body, { ifMatch })),
    );
  }

  @Patch('/:id')
  @Endpoint({
    summary: 'Change a workflow’s name, description or settings',
    description: 'Changes no script, steps or variables, and creates no revision.',
    access: allowSessionsAndKeys('workflows.write'),
    body: UpdateWorkflowBody,
    answer: Workflow,
    errors: ['not_found'],
    etag: 'change',
  })
  update(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() change: UpdateWorkflowBody,
    @IfMatch() ifMatch?: string,
  ): Promise<Workflow> {
    return this.mutations.runMutation(mutation, async (tx, caller) =>
      this.presentWorkflow(caller, await updateWorkflow(tx, caller, id, { change, ifMatch })),
    );
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Archive a workflow',
    description:
      'An archived workflow is no longer listed and can no longer be launched. The runs of the workflow are not ' +
      'deleted.',
    access: allowSessionsAndKeys('workflows.write'),
    status: 204,
    errors: ['invalid_payload', 'not_found'],
    etag: 'change',
  })
  archive(@Mutation() mutation: MutationRequest, @Param('id') id: string, @IfMatch() ifMatch?: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await archiveWorkflow(tx, caller, id, { ifMatch });
      return { body: undefined };
    });
  }

  @Get('/:id/revisions')
  @Endpoint({
    summary: 'List a workflow’s revisions, newest first',
    access: allowSessionsAndKeys('workflows.read'),
    answer: WorkflowRevisionList,
    errors: ['invalid_payload', 'not_found'],
  })
  async revisions(
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Query() query: PageQuery,
  ): Promise<WorkflowRevisionList> {
    const page = parsePage(query, 'integer');
    const rows = await listRevisions(this.database, organizationId, { id, page });
    const { items, nextCursor } = buildPage(rows, page, ({ revision }) => [String(revision)]);
    return { revisions: items.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() })), nextCursor };
  }

  @Get('/:id/revisions/:revision/diff')
  @Endpoint({
    summary: 'Compare two revisions of a workflow',
    description: 'The revision is compared with `against`, or with the previous revision if that is absent.',
    access: allowSessionsAndKeys('workflows.read'),
    answer: RevisionDiff,
    errors: ['invalid_payload', 'not_found'],
  })
  async diff(
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Param('revision') revision: string,
    @Query() { against }: RevisionDiffQuery,
  ): Promise<RevisionDiff> {
    return compareRevisions(this.database, organizationId, { id, revision: parseRevision(revision), against });
  }

  @Post('/:id/revisions/:revision/restore')
  @Endpoint({
    summary: 'Restore an old revision',
    description: 'Saves the content of the old revision as a new revision. No revision is deleted.',
    access: allowSessionsAndKeys('workflows.write'),
    answer: Workflow,
    errors: ['invalid_payload', 'not_found'],
    etag: 'change',
  })
  restore(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Param('revision') revision: string,
    @IfMatch() ifMatch?: string,
  ): Promise<Workflow> {
    const wanted = parseRevision(revision);
    return this.mutations.runMutation(mutation, async (tx, caller) =>
      this.presentWorkflow(caller, await restoreRevision(tx, caller, id, { revision: wanted, ifMatch })),
    );
  }

  @Patch('/:id/steps/:step')
  @Endpoint({
    summary: 'Confirm a step of a draft',
    description: 'A run stops before a step that is marked for review, until a person has confirmed the step.',
    access: allowSessionsAndKeys('workflows.write'),
    body: ConfirmStepBody,
    answer: Workflow,
    errors: ['not_found', 'conflict'],
    etag: 'change',
  })
  confirm(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Param('step') stepId: string,
    @Body() _body: ConfirmStepBody,
    @IfMatch() ifMatch?: string,
  ): Promise<Workflow> {
    return this.mutations.runMutation(mutation, async (tx, caller) =>
      this.presentWorkflow(caller, await markStepReviewed(tx, caller, { id, stepId, ifMatch })),
    );
  }

  private async presentWorkflow({ organizationId }: { organizationId: string }, row: WorkflowRow) {
    return { body: await presentWorkflow(this.storage, organizationId, row), etag: toEtag(row.version) };
  }
}

function parseRevision(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    const detail = 'The revision in the path must be a positive integer.';
    throw invalidFieldError('revision', 'revision must be a positive integer', detail);
  }
  return Number(text);
}
