import { Body, Controller, Get, Inject, Param, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  allowSessionsAndKeys,
  allowSessions,
} from '@muster/access';
import { LibraryProcess, PageQuery, ProcessLibrary, PutProcessBody } from '@muster/contracts';
import { Database } from '@muster/database';
import { listProcesses, putProcess } from '@muster/packs';
import { parsePage, buildPage } from '@muster/platform';

@ApiTags('Workflow packs')
@Controller('/api/process-library')
export class ProcessLibraryController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List processes',
    description:
      'A process is a task that the organization automates, such as the retrieval of payment documents from a ' +
      'portal. `packId` is the workflow pack with its code; null if it has none.',
    access: allowSessionsAndKeys('agents.read'),
    answer: ProcessLibrary,
  })
  async list(@OrganizationId() organizationId: string, @Query() query: PageQuery): Promise<ProcessLibrary> {
    const page = parsePage(query, 'text');
    const rows = await listProcesses(this.database, organizationId, page);
    const { items, nextCursor } = buildPage(rows, page, ({ workerKey }) => [workerKey]);
    return { processes: items, nextCursor };
  }

  @Put('/:workerKey')
  @Endpoint({
    summary: 'Create or change a process',
    access: allowSessions('settings.admin'),
    body: PutProcessBody,
    answer: LibraryProcess,
  })
  put(
    @Mutation() mutation: MutationRequest,
    @Param('workerKey') workerKey: string,
    @Body() body: PutProcessBody,
  ): Promise<LibraryProcess> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: await putProcess(tx, caller, workerKey, body),
    }));
  }
}
