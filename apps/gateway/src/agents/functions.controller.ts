import { Body, Controller, Delete, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import {
  createFunction,
  deleteFunction,
  findFunction,
  type FunctionRow,
  listFunctions,
  updateFunction,
} from '@muster/commands';
import { AgentFunction, AgentFunctionList, CreateFunctionBody, PageQuery, UpdateFunctionBody } from '@muster/contracts';
import { Database, type Transaction } from '@muster/database';
import { parsePage, buildPage } from '@muster/platform';

@ApiTags('Functions')
@Controller('/api/functions')
export class FunctionsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List saved functions',
    access: allowSessionsAndKeys('workflows.read'),
    answer: AgentFunctionList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: PageQuery): Promise<AgentFunctionList> {
    const page = parsePage(query, 'text');
    const rows = await listFunctions(this.database, organizationId, page);
    const { items, nextCursor } = buildPage(rows, page, ({ name }) => [name]);
    return { functions: items.map(presentFunction), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create a function',
    access: allowSessionsAndKeys('workflows.write'),
    body: CreateFunctionBody,
    answer: AgentFunction,
    status: 201,
    errors: ['conflict'],
    idempotent: true,
  })
  create(@Mutation() mutation: MutationRequest, @Body() body: CreateFunctionBody): Promise<AgentFunction> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const created = await createFunction(tx, caller, body);
      return { body: presentFunction(created), location: `/api/functions/${created.id}` };
    });
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read a function',
    access: allowSessionsAndKeys('workflows.read'),
    answer: AgentFunction,
    errors: ['invalid_payload', 'not_found'],
  })
  async read(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<AgentFunction> {
    const findFunctionToRun = (tx: Transaction) => findFunction(tx, organizationId, { id });
    return presentFunction(await this.database.transaction({ organizationId }, findFunctionToRun));
  }

  @Patch('/:id')
  @Endpoint({
    summary: 'Change a function',
    access: allowSessionsAndKeys('workflows.write'),
    body: UpdateFunctionBody,
    answer: AgentFunction,
    errors: ['not_found', 'conflict'],
  })
  update(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() body: UpdateFunctionBody,
  ): Promise<AgentFunction> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: presentFunction(await updateFunction(tx, caller, id, body)),
    }));
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Delete a function',
    access: allowSessionsAndKeys('workflows.write'),
    status: 204,
    errors: ['invalid_payload', 'not_found'],
  })
  remove(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteFunction(tx, caller, id);
      return { body: undefined };
    });
  }
}

function presentFunction({ createdAt, updatedAt, ...row }: FunctionRow): AgentFunction {
  const { id, name, description, parameters, code } = row;
  return {
    id,
    name,
    description,
    parameters,
    code,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
