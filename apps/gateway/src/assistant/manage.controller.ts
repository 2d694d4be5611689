import type { Socket } from 'node:net';
import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Caller, Endpoint, type Principal, sessionsAndKeysOf } from '@muster/access';
import { findAgent, requireOwnAgent } from '@muster/agents';
import { decideCall, type Decision, manage } from '@muster/assistant';
import { invalidField, ManageAnswer, ManageBody } from '@muster/contracts';
import { Connection, OpenStreams } from '@muster/platform';
import { AssistantParts } from './assistant-parts';

@ApiTags('Assistant')
@Controller('/api/agents/:id')
export class ManageController {
  constructor(
    @Inject(AssistantParts) private readonly parts: AssistantParts,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
  ) {}

  @Post('manage')
  @Endpoint({
    summary: 'Call a tool of the assistant, or decide a call that waits',
    description:
      'The same tools as in a chat, without a model: list names them, with their arguments and the role that each ' +
      'needs. With confirmationId and approve it decides a call of the caller’s own chat, which then is done exactly ' +
      'as it was shown. What a tool’s route refuses is refused here with the same problem.',
    access: sessionsAndKeysOf('viewer'),
    unsuspended: 'sometimes',
    body: ManageBody,
    answer: ManageAnswer,
    errors: [
      'agent_not_found',
      'agent_not_ready',
      'machine_cannot',
      'not_found',
      'conflict',
      'confirmation_expired',
      'machine_not_ours',
      'nothing_to_run',
      'no_pinned_version',
      'execution_timeout',
    ],
    // A machine is given a few seconds for its answer.
    waits: true,
  })
  async manage(
    @Caller() caller: Principal,
    @Connection() connection: Socket,
    @Param('id') agentId: string,
    @Body() body: ManageBody,
  ): Promise<ManageAnswer> {
    requireOwnAgent(caller, agentId);
    await findAgent(this.parts.database, caller.organizationId, agentId);
    const wanted = wantedOf(body);
    return this.streams.waiting(connection, 'tool', (left) =>
      'decision' in wanted
        ? decideCall(this.parts, caller, agentId, wanted.decision, left)
        : manage(this.parts, caller, agentId, wanted, left),
    );
  }
}

type Wanted = { decision: Decision } | { tool: string; given?: Record<string, unknown> };

function wantedOf({ tool, arguments: given, confirmationId, approve }: ManageBody): Wanted {
  if (confirmationId === undefined) {
    if (tool === undefined) throw invalidField('tool', 'tool must be given, or a confirmationId with approve');
    if (approve !== undefined) throw invalidField('approve', 'approve goes with a confirmationId');
    return { tool, given };
  }
  if (approve === undefined) throw invalidField('approve', 'approve must be given with a confirmationId');
  if (tool !== undefined) throw invalidField('tool', 'a confirmation names its tool itself');
  if (given !== undefined) throw invalidField('arguments', 'a confirmation is for the arguments that were shown');
  return { decision: { confirmationId, approve } };
}
