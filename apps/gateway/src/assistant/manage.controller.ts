import type { Socket } from 'node:net';
import { Body, Controller, Inject, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Caller, Endpoint, type Principal, allowSessionsAndKeys } from '@muster/access';
import { findAgent, requireOwnAgent } from '@muster/machines';
import { approveOrRejectCall, type Decision, callToolForCaller } from '@muster/assistant';
import { invalidFieldError, ManageAnswer, ManageBody } from '@muster/contracts';
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
    summary: 'Call an assistant tool, or approve or decline a call',
    description:
      'Offers the same tools as a chat, without a model. The tool `list` returns all tools with their arguments and ' +
      'required permissions. With `confirmationId` and `approve`, approves or declines a call that waits in a chat of the ' +
      'caller. An approved call is executed exactly as the chat showed it. If the operation that a tool uses ' +
      'rejects the call, the same problem is returned here.',
    access: allowSessionsAndKeys('assistant.use'),
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
    // The request timeout does not apply, because a tool can wait some seconds for the machine's response.
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
    const wanted = parseWanted(body);
    return this.streams.runWaiting(connection, 'tool', (left) =>
      'decision' in wanted
        ? approveOrRejectCall(this.parts, caller, agentId, wanted.decision, left)
        : callToolForCaller(this.parts, caller, agentId, wanted, left),
    );
  }
}

type Wanted = { decision: Decision } | { tool: string; args?: Record<string, unknown> };

function parseWanted({ tool, arguments: args, confirmationId, approve }: ManageBody): Wanted {
  if (confirmationId === undefined) {
    if (tool === undefined) throw invalidFieldError('tool', 'tool is required, or confirmationId and approve');
    if (approve !== undefined) throw invalidFieldError('approve', 'approve requires a confirmationId');
    return { tool, args };
  }
  if (approve === undefined) throw invalidFieldError('approve', 'approve is required with a confirmationId');
  if (tool !== undefined) throw invalidFieldError('tool', 'tool must be absent if confirmationId is sent');
  if (args !== undefined) throw invalidFieldError('arguments', 'arguments must be absent if confirmationId is sent');
  return { decision: { confirmationId, approve } };
}
