import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useLayoutEffect, useRef } from 'react';
import { chatHistory, type ChatMessage } from '../../../api/generated';
import { useCurrentUser } from '../../../api/session';
import { type ChatTurn, forgetChatTurn, startChatTurn, stopChatTurn, useChatTurn } from '../../../live/chat-turns';
import { Button } from '../../../ui/button';
import { ErrorNote } from '../../../ui/error-note';
import { EmptyNote, Panel, Skeleton } from '../../../ui/page';
import { ChatMessageField } from './composer';
import { Message } from './message';

interface ConversationProps {
  agentId: string;
  sessionId: string | undefined;
  /** Called when a new conversation has received its id. */
  begun: (sessionId: string) => void;
}

/** One conversation: its history, the answer in progress and the field for the next message. */
export function Conversation({ agentId, sessionId, begun }: ConversationProps) {
  const { user, organization } = useCurrentUser();
  const client = useQueryClient();
  const owner = `${organization.id} ${user.id} ${agentId}`;
  const any = useChatTurn(owner);
  const turn = any && belongsToConversation(any, sessionId) ? any : undefined;
  const isTalking = any?.state === 'running';
  const history = useChatHistory(agentId, sessionId, isTalking && turn !== undefined);
  const end = useRef<HTMLDivElement>(null);

  const newSessionId = turn?.sessionId;
  useEffect(() => {
    if (newSessionId && !sessionId) begun(newSessionId);
  }, [newSessionId, sessionId, begun]);
  const messages = removeTurnFromHistory(history.messages, turn);
  useScrollFollowing(end, `${messages.length} ${turn?.text.length} ${turn?.calls.length}`);

  const settle = useCallback(async () => {
    await client.invalidateQueries({ queryKey: ['chat', agentId] });
  }, [client, agentId]);
  const startTurn = async (message: string, autoConfirm: boolean) => {
    const lastAt = history.messages.at(-2)?.at;
    await startChatTurn(owner, { agentId, lastAt, message, sessionId, ...(autoConfirm ? { autoConfirm } : {}) });
    await settle();
  };
  // As soon as the loaded history contains the complete answer, it is shown from the history and no longer from the
  // live stream.
  const isKept =
    turn !== undefined &&
    turn.state !== 'running' &&
    endsWithTurn(history.messages, turn) &&
    history.messages.at(-1)!.status !== 'running';
  useEffect(() => {
    if (isKept) forgetChatTurn(owner);
  }, [isKept, owner]);

  return (
    <Panel title="Chat">
      <div className="flex flex-col gap-4">
        <div role="log" aria-label="Chat history" className="flex flex-col gap-4">
          {history.hasOlder && (
            <Button look="quiet" onClick={history.loadOlder}>
              Older messages
            </Button>
          )}
          {history.error ? (
            <ErrorNote error={history.error} retry={history.retry} />
          ) : (
            history.isPending && !turn && <Skeleton />
          )}
          {!sessionId && !turn && (
            <EmptyNote title="Ask about this machine, or let the assistant change something on it.">
              For example: Why is the last run waiting? What did it log? Changes wait for your approval.
            </EmptyNote>
          )}
          {messages.map((message) => (
            // The React key of a message does not depend on its position, so details that the user has opened stay open
            // when older messages are loaded.
            <Message key={`${message.at} ${message.role}`} agentId={agentId} message={message} decided={settle} />
          ))}
          {turn && (
            <>
              <Message agentId={agentId} message={{ role: 'user', content: turn.message, at: '' }} decided={settle} />
              <Message
                agentId={agentId}
                message={toAnswerMessage(turn)}
                isComing={turn.state === 'running'}
                decided={settle}
              />
            </>
          )}
          {turn?.error && <ErrorNote error={turn.error} />}
        </div>
        <ChatMessageField
          isNew={!sessionId && !turn}
          isTalking={isTalking}
          isElsewhere={isTalking && !turn}
          say={startTurn}
          stop={() => stopChatTurn(owner)}
        />
        <div ref={end} />
      </div>
    </Panel>
  );
}

function belongsToConversation(turn: ChatTurn, sessionId: string | undefined): boolean {
  return sessionId === undefined ? turn.state === 'running' || turn.error !== undefined : turn.sessionId === sessionId;
}

function toAnswerMessage({ text, calls, state }: ChatTurn): ChatMessage {
  const status = state === 'running' ? { status: 'running' as const } : {};
  return { role: 'assistant', content: text, toolCalls: calls, at: '', ...status };
}

/** Messages of the history, without the turn that is shown live. */
function removeTurnFromHistory(messages: ChatMessage[], turn: ChatTurn | undefined): ChatMessage[] {
  return turn && endsWithTurn(messages, turn) ? messages.slice(0, -2) : messages;
}

function endsWithTurn(messages: ChatMessage[], turn: ChatTurn): boolean {
  const previous = messages.at(-2);
  return previous?.role === 'user' && previous.at !== turn.lastAt && previous.content.trim() === turn.message.trim();
}

const runningAnswerPollMs = 1000;

function useChatHistory(agentId: string, sessionId: string | undefined, isTalking: boolean) {
  const query = useInfiniteQuery({
    queryKey: ['chat', agentId, 'messages', sessionId],
    enabled: sessionId !== undefined,
    queryFn: ({ pageParam, signal }) =>
      chatHistory({ path: { id: agentId }, query: { sessionId, limit: 50, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    // Polls a running answer that is not streamed here: another tab streams it, or it was stopped and is about to end.
    refetchInterval: ({ state }) =>
      !isTalking && state.data?.pages[0]?.messages?.at(-1)?.status === 'running' ? runningAnswerPollMs : false,
  });
  return {
    messages: [...(query.data?.pages ?? [])].reverse().flatMap((page) => page.messages ?? []),
    isPending: query.isPending && sessionId !== undefined,
    error: query.data ? null : query.error,
    hasOlder: query.hasNextPage,
    loadOlder: () => void query.fetchNextPage(),
    retry: () => void query.refetch(),
  };
}

/** Scrolls to the end when content is added, unless the user has scrolled up. */
function useScrollFollowing(end: React.RefObject<HTMLDivElement | null>, length: string): void {
  const wasNear = useRef(true);
  useLayoutEffect(() => {
    const { current } = end;
    const scroller = current?.closest('main');
    if (!current || !scroller) return;
    if (wasNear.current) current.scrollIntoView({ block: 'nearest' });
    const handleScroll = () => {
      wasNear.current = current.getBoundingClientRect().top < scroller.getBoundingClientRect().bottom + 80;
    };
    scroller.addEventListener('scroll', handleScroll, { passive: true });
    return () => scroller.removeEventListener('scroll', handleScroll);
  }, [end, length]);
}
