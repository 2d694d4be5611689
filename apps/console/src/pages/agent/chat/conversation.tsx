import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useLayoutEffect, useRef } from 'react';
import { chatHistory, type ChatMessage } from '../../../api/generated';
import { useMe } from '../../../api/session';
import { type ChatTurn, forgetChatTurn, startChatTurn, stopChatTurn, useChatTurn } from '../../../live/chat-turns';
import { Button } from '../../../ui/button';
import { ErrorNote } from '../../../ui/error-note';
import { Empty, Panel, Skeleton } from '../../../ui/page';
import { Composer } from './composer';
import { Message } from './message';

interface ConversationProps {
  agentId: string;
  sessionId: string | undefined;
  /** A new one has its id. */
  begun: (sessionId: string) => void;
}

/** One conversation: what was said, what is being said, and what one says next. */
export function Conversation({ agentId, sessionId, begun }: ConversationProps) {
  const { user, organization } = useMe();
  const client = useQueryClient();
  const owner = `${organization.id} ${user.id} ${agentId}`;
  const any = useChatTurn(owner);
  const turn = any && isHere(any, sessionId) ? any : undefined;
  const isTalking = any?.state === 'running';
  const history = useHistory(agentId, sessionId, isTalking && turn !== undefined);
  const end = useRef<HTMLDivElement>(null);

  const fresh = turn?.sessionId;
  useEffect(() => {
    if (fresh && !sessionId) begun(fresh);
  }, [fresh, sessionId, begun]);
  const messages = shownWith(history.messages, turn);
  useFollowing(end, `${messages.length} ${turn?.text.length} ${turn?.calls.length}`);

  const settle = useCallback(async () => {
    await client.invalidateQueries({ queryKey: ['chat', agentId] });
  }, [client, agentId]);
  const say = async (message: string, autoConfirm: boolean) => {
    const lastAt = history.messages.at(-2)?.at;
    await startChatTurn(owner, { agentId, lastAt, message, sessionId, ...(autoConfirm ? { autoConfirm } : {}) });
    await settle();
  };
  // Once the history has the answer, that is what is shown.
  const isKept =
    turn !== undefined &&
    turn.state !== 'running' &&
    endsWith(history.messages, turn) &&
    history.messages.at(-1)!.status !== 'running';
  useEffect(() => {
    if (isKept) forgetChatTurn(owner);
  }, [isKept, owner]);

  return (
    <Panel title="Chat">
      <div className="flex flex-col gap-4">
        <div role="log" aria-label="What was said" className="flex flex-col gap-4">
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
            <Empty title="Ask about this machine, or have something done on it.">
              Why does the last run wait? What did it log? What is changed waits for your word first.
            </Empty>
          )}
          {messages.map((message) => (
            // Older ones come before them, and what is open in one stays open.
            <Message key={`${message.at} ${message.role}`} agentId={agentId} message={message} decided={settle} />
          ))}
          {turn && (
            <>
              <Message agentId={agentId} message={{ role: 'user', content: turn.message, at: '' }} decided={settle} />
              <Message
                agentId={agentId}
                message={answerOf(turn)}
                isComing={turn.state === 'running'}
                decided={settle}
              />
            </>
          )}
          {turn?.error && <ErrorNote error={turn.error} />}
        </div>
        <Composer
          isNew={!sessionId && !turn}
          isTalking={isTalking}
          isElsewhere={isTalking && !turn}
          say={say}
          stop={() => stopChatTurn(owner)}
        />
        <div ref={end} />
      </div>
    </Panel>
  );
}

function isHere(turn: ChatTurn, sessionId: string | undefined): boolean {
  return sessionId === undefined ? turn.state === 'running' || turn.error !== undefined : turn.sessionId === sessionId;
}

function answerOf({ text, calls, state }: ChatTurn): ChatMessage {
  const status = state === 'running' ? { status: 'running' as const } : {};
  return { role: 'assistant', content: text, toolCalls: calls, at: '', ...status };
}

/** The history without what is shown as it comes. */
function shownWith(messages: ChatMessage[], turn: ChatTurn | undefined): ChatMessage[] {
  return turn && endsWith(messages, turn) ? messages.slice(0, -2) : messages;
}

function endsWith(messages: ChatMessage[], turn: ChatTurn): boolean {
  const asked = messages.at(-2);
  return asked?.role === 'user' && asked.at !== turn.lastAt && asked.content.trim() === turn.message.trim();
}

const runningAnswerPollMs = 1000;

function useHistory(agentId: string, sessionId: string | undefined, isTalking: boolean) {
  const query = useInfiniteQuery({
    queryKey: ['chat', agentId, 'messages', sessionId],
    enabled: sessionId !== undefined,
    queryFn: ({ pageParam, signal }) =>
      chatHistory({ path: { id: agentId }, query: { sessionId, limit: 50, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    // An answer that another tab waits for, or one that was stopped here and is about to end.
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

/** What comes at the end is seen, unless one reads further up. */
function useFollowing(end: React.RefObject<HTMLDivElement | null>, length: string): void {
  const wasNear = useRef(true);
  useLayoutEffect(() => {
    const { current } = end;
    const scroller = current?.closest('main');
    if (!current || !scroller) return;
    if (wasNear.current) current.scrollIntoView({ block: 'nearest' });
    const scrolled = () => {
      wasNear.current = current.getBoundingClientRect().top < scroller.getBoundingClientRect().bottom + 80;
    };
    scroller.addEventListener('scroll', scrolled, { passive: true });
    return () => scroller.removeEventListener('scroll', scrolled);
  }, [end, length]);
}
