import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { chatHistory } from '../../../api/generated';
import { Time } from '../../../format/time';
import { Button } from '../../../ui/button';
import { ErrorNote } from '../../../ui/error-note';
import { Panel, Skeleton } from '../../../ui/page';
import { useUrlState } from '../../../ui/table/use-url-state';
import { Conversation } from './conversation';

/** Conversations with a model about this machine: a list of the user's own, and the one that the URL names. */
export function Chat({ agentId }: { agentId: string }) {
  const [{ sessionId }, change] = useUrlState();
  const [drafts, setDrafts] = useState(0);
  const openSession = (id: string | undefined) => {
    change({ sessionId: id });
    setDrafts(drafts + 1);
  };
  return (
    <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_16rem]">
      <Conversation key={drafts} agentId={agentId} sessionId={sessionId} begun={(id) => change({ sessionId: id })} />
      <Conversations agentId={agentId} shown={sessionId} open={openSession} />
    </div>
  );
}

interface ConversationsProps {
  agentId: string;
  shown: string | undefined;
  open: (sessionId: string | undefined) => void;
}

function Conversations({ agentId, shown, open }: ConversationsProps) {
  const { data, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['chat', agentId, 'sessions'],
    queryFn: ({ pageParam, signal }) =>
      chatHistory({ path: { id: agentId }, query: { limit: 20, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const sessions = data?.pages.flatMap((page) => page.sessions ?? []) ?? [];
  return (
    <Panel title="Conversations" actions={<Button onClick={() => open(undefined)}>New conversation</Button>}>
      {error && !data ? <ErrorNote error={error} retry={() => void refetch()} /> : !data && <Skeleton />}
      {data && sessions.length === 0 && <p className="text-dim">No conversations yet.</p>}
      <ul className="flex max-h-96 flex-col gap-0.5 overflow-y-auto">
        {sessions.map(({ sessionId, title, updatedAt }) => (
          <li key={sessionId}>
            <button
              type="button"
              aria-current={sessionId === shown || undefined}
              onClick={() => open(sessionId)}
              className="flex w-full flex-col rounded-control px-2 py-1.5 text-left hover:bg-sunken aria-[current=true]:bg-picked"
            >
              <bdi className="w-full truncate">{title}</bdi>
              <span className="text-xs text-dim">
                <Time at={updatedAt} relative />
              </span>
            </button>
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button look="quiet" onClick={() => void fetchNextPage()}>
          Older conversations
        </Button>
      )}
    </Panel>
  );
}
