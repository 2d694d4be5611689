import { Body, Controller, Get, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Caller, Endpoint, type Principal, sessionsAndKeysOf, StandingAccess } from '@muster/access';
import { findAgent, requireOwnAgent } from '@muster/agents';
import { answerTurn, beginTurn, type Following, listChatSessions, readHistory, type Turn } from '@muster/assistant';
import {
  ChatAnswer,
  ChatBody,
  ChatDoneEvent,
  ChatErrorEvent,
  ChatHistory,
  ChatQuery,
  ChatSessionEvent,
  ChatTokenEvent,
  ChatToolCallEvent,
  ChatToolResultEvent,
  ChatUsage,
  type ErrorCode,
} from '@muster/contracts';
import { OpenStreams, pageOf } from '@muster/platform';
import { openModel } from '@muster/pricing';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayConfig } from '../gateway.config';
import { AssistantParts } from './assistant-parts';
import { openChatStream } from './chat-stream';

const talkers = sessionsAndKeysOf('viewer');
const errors: ErrorCode[] = [
  'agent_not_found',
  'not_found',
  'conflict',
  'model_not_configured',
  'model_failed',
  'execution_timeout',
];

@ApiTags('Assistant')
@Controller('/api/agents/:id/chat')
export class ChatController {
  constructor(
    @Inject(AssistantParts) private readonly parts: AssistantParts,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
    @Inject(StandingAccess) private readonly standing: StandingAccess,
    @Inject(GatewayConfig) private readonly config: GatewayConfig,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Talk with a model about an agent',
    description:
      'It calls the tools of manage, with the caller’s own rights; a viewer’s read alone. What changes something waits ' +
      'for a confirmation. One message at a time in a session: a second one gets 409 until the first is answered. ' +
      'Who goes away ends the answer, and finds in the history what was said until then.',
    access: talkers,
    unsuspended: true,
    body: ChatBody,
    answer: ChatAnswer,
    errors,
    // A model takes as long as it takes; its own timeout ends the waiting.
    waits: true,
  })
  async chat(
    @Req() request: FastifyRequest,
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Body() body: ChatBody,
  ): Promise<ChatAnswer> {
    const turn = await this.begin(caller, agentId, body);
    const mayStay = this.standing.of(request, talkers).holds;
    return this.streams.waiting(request.raw.socket, 'chat', (left) => answerTurn(this.parts, turn, { left, mayStay }));
  }

  @Post('stream')
  @Endpoint({
    summary: 'Talk with a model about an agent, and hear its answer as it comes',
    description:
      'As chat, answered as server-sent events: session first, then token, tool_call and tool_result as they come, and ' +
      'at the end usage and done, or error. A comment comes every 15 s.',
    access: talkers,
    unsuspended: true,
    body: ChatBody,
    stream: [
      ChatSessionEvent,
      ChatTokenEvent,
      ChatToolCallEvent,
      ChatToolResultEvent,
      ChatUsage,
      ChatDoneEvent,
      ChatErrorEvent,
    ],
    errors,
  })
  async stream(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Body() body: ChatBody,
  ): Promise<void> {
    const turn = await this.begin(caller, agentId, body);
    const mayStay = this.standing.of(request, talkers).holds;
    const stream = openChatStream(reply, this.config.eventStreamsHeartbeatMs);
    stream.send('session', { sessionId: turn.sessionId });
    const listener: Following['listener'] = {
      token: (text) => stream.send('token', { text }),
      toolCall: (call) => stream.send('tool_call', call),
      toolResult: (outcome) => stream.send('tool_result', outcome),
      usage: (usage) => stream.send('usage', usage),
    };
    try {
      const { reply: whole } = await this.streams.waiting(request.raw.socket, 'chat', (left) =>
        answerTurn(this.parts, turn, { left, mayStay, listener }),
      );
      stream.send('done', { reply: whole });
    } catch (error) {
      stream.fail(error);
    } finally {
      stream.end();
    }
  }

  @Get()
  @Endpoint({
    summary: 'List the caller’s own sessions about an agent, or read one',
    reads: 'chat',
    access: talkers,
    answer: ChatHistory,
    errors: ['invalid_payload', 'agent_not_found', 'not_found'],
  })
  async history(
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Query() query: ChatQuery,
  ): Promise<ChatHistory> {
    const { database, clock } = this.parts;
    requireOwnAgent(caller, agentId);
    await findAgent(database, caller.organizationId, agentId);
    const { sessionId } = query;
    if (!sessionId) return listChatSessions(database, caller, agentId, pageOf(query, 'time', 'id'));
    return readHistory(database, caller, agentId, {
      sessionId,
      page: pageOf(query, 'id', 'integer'),
      now: clock.now(),
    });
  }

  /** All that can be said before anything is written down. */
  private async begin(caller: Principal, agentId: string, body: ChatBody): Promise<Turn> {
    requireOwnAgent(caller, agentId);
    await findAgent(this.parts.database, caller.organizationId, agentId);
    await openModel(this.parts, { organizationId: caller.organizationId, purpose: 'chat' });
    const begun = await beginTurn(this.parts, caller, agentId, body);
    return { ...begun, caller, agentId };
  }
}
