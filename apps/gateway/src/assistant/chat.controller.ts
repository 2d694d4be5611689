import { Body, Controller, Get, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccessRecheck, Caller, Endpoint, type Principal, allowSessionsAndKeys } from '@muster/access';
import { findAgent, requireOwnAgent } from '@muster/machines';
import {
  answerChatTurn,
  startTurn,
  type Following,
  listChatSessions,
  readChatHistory,
  type Turn,
} from '@muster/assistant';
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
import { OpenStreams, parsePage } from '@muster/platform';
import { openModelForCaller } from '@muster/pricing';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayConfig } from '../gateway.config';
import { AssistantParts } from './assistant-parts';
import { openChatStream } from './chat-stream';

const talkers = allowSessionsAndKeys('assistant.use');
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
    @Inject(AccessRecheck) private readonly standing: AccessRecheck,
    @Inject(GatewayConfig) private readonly config: GatewayConfig,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Chat with a model about an agent',
    description:
      'The model calls the tools that POST /api/agents/{id}/manage offers, with the rights of the caller. If the ' +
      'caller is a viewer, the model can only read. A call that changes something waits for a confirmation. A ' +
      'session processes one message at a time. A second message gets 409 until the first is answered. If the ' +
      'client disconnects, the answer ends. The history contains the part of the answer that was written until then.',
    access: talkers,
    unsuspended: true,
    body: ChatBody,
    answer: ChatAnswer,
    errors,
    // The request timeout does not apply, because the timeout of the model call ends the wait.
    waits: true,
  })
  async chat(
    @Req() request: FastifyRequest,
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Body() body: ChatBody,
  ): Promise<ChatAnswer> {
    const turn = await this.beginChatTurn(caller, agentId, body);
    const mayStay = this.standing.createAccessRecheck(request, talkers).holds;
    return this.streams.runWaiting(request.raw.socket, 'chat', (left) =>
      answerChatTurn(this.parts, turn, { left, mayStay }),
    );
  }

  @Post('stream')
  @Endpoint({
    summary: 'Chat with a model and stream its answer',
    description:
      'Works like POST /api/agents/{id}/chat, but responds with server-sent events. `session` is sent first, then ' +
      '`token`, `tool_call` and `tool_result` as they occur. The last events are `usage` and `done`, or `error`. A ' +
      'comment is sent every 15 s.',
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
    const turn = await this.beginChatTurn(caller, agentId, body);
    const mayStay = this.standing.createAccessRecheck(request, talkers).holds;
    const stream = openChatStream(reply, this.config.eventStreamsHeartbeatMs);
    stream.send('session', { sessionId: turn.sessionId });
    const listener: Following['listener'] = {
      token: (text) => stream.send('token', { text }),
      toolCall: (call) => stream.send('tool_call', call),
      toolResult: (outcome) => stream.send('tool_result', outcome),
      usage: (usage) => stream.send('usage', usage),
    };
    try {
      const { reply: whole } = await this.streams.runWaiting(request.raw.socket, 'chat', (left) =>
        answerChatTurn(this.parts, turn, { left, mayStay, listener }),
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
    summary: 'List your chat sessions, or read one',
    description:
      'Returns the messages of a session if `sessionId` is specified. Otherwise returns the caller’s sessions about ' +
      'the agent, the most recently used first.',
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
    if (!sessionId) return listChatSessions(database, caller, agentId, parsePage(query, 'time', 'id'));
    return readChatHistory(database, caller, agentId, {
      sessionId,
      page: parsePage(query, 'id', 'integer'),
      now: clock.now(),
    });
  }

  /** Checks the agent and the model before the message is stored, so that a rejected message leaves nothing behind. */
  private async beginChatTurn(caller: Principal, agentId: string, body: ChatBody): Promise<Turn> {
    requireOwnAgent(caller, agentId);
    await findAgent(this.parts.database, caller.organizationId, agentId);
    await openModelForCaller(this.parts, { organizationId: caller.organizationId, purpose: 'chat' });
    const begun = await startTurn(this.parts, caller, agentId, body);
    return { ...begun, caller, agentId };
  }
}
