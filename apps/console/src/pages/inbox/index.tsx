import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { Question } from '../../api/generated';
import { buildQuestionQuery } from '../../api/queries';
import { AlertCard } from '../../parts/alert/alert-card';
import { useOpenAlerts } from '../../parts/alert/use-open-alerts';
import { QuestionCard } from '../../parts/question/question-card';
import { useOpenQuestions } from '../../parts/question/use-open-questions';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { EmptyNote, Page, Skeleton } from '../../ui/page';

/** The open questions, oldest first, each answered on its card; then the open alerts, newest first. */
export function InboxPage() {
  const { items, isPending, error, hasMore, isLoadingMore, loadMore, retry } = useOpenQuestions();
  const alerts = useOpenAlerts();
  const [touched, setTouched] = useState<Question | null>(null);
  const shown = useItemsWithTouched(items, touched);
  const list = useRef<HTMLDivElement>(null);
  useCardKeys(list, touched?.id);
  return (
    <Page title="Inbox">
      {error && <ErrorNote error={error} retry={retry} />}
      {alerts.error && <ErrorNote error={alerts.error} retry={alerts.retry} />}
      {((isPending && !error) || (alerts.isPending && !alerts.error)) && <Skeleton rows={4} />}
      {!isPending && !error && shown.length === 0 && <NoQuestions isShort={alerts.items.length > 0} />}
      <div ref={list} className="flex max-w-3xl flex-col gap-4">
        {shown.map((question) => (
          <QuestionCard key={question.id} question={question} withRun onTouched={() => setTouched(question)} />
        ))}
        {hasMore && shown.length > 0 && (
          <Button className="self-start" busy={isLoadingMore} onClick={loadMore}>
            More questions
          </Button>
        )}
        {alerts.items.map((alert) => (
          <AlertCard key={alert.id} alert={alert} />
        ))}
        {alerts.hasMore && (
          <Button className="self-start" busy={alerts.isLoadingMore} onClick={alerts.loadMore}>
            More alerts
          </Button>
        )}
      </div>
    </Page>
  );
}

/** Shows that no question is open, with a full explanation only if the inbox shows nothing else. */
function NoQuestions({ isShort }: { isShort: boolean }) {
  if (isShort) return <p className="text-dim">No open questions.</p>;
  return (
    <EmptyNote title="No open questions.">
      Questions from running workflows and paused autopilot sessions appear here. A script asks with{' '}
      <code>muster.ask(…)</code>, and a recorded workflow with an <code>ask</code> step. The run waits until you answer
      here or on the run’s page. Open alerts also appear here if an admin has turned on alert rules in the settings.
    </EmptyNote>
  );
}

/** Keeps the last edited question and its outcome in the list after it has ended, until another one is edited. */
function useItemsWithTouched(items: Question[], touched: Question | null): Question[] {
  const isGone = touched !== null && !items.some(({ id }) => id === touched.id);
  const { data = touched } = useQuery({ ...buildQuestionQuery(touched?.id ?? ''), enabled: isGone });
  if (!isGone || !data) return items;
  // Ids are ordered by creation time.
  return [...items, data].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** `j` and `k` move between questions, Enter focuses the answer, Escape returns to the card. */
function useCardKeys(list: React.RefObject<HTMLElement | null>, currentId: string | undefined): void {
  useEffect(() => {
    const handleKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest('[role=dialog], [role=menu]')) return;
      const cards = [...(list.current?.querySelectorAll<HTMLElement>('article') ?? [])];
      const focused = cards.findIndex((card) => card.contains(target));
      const place = focused >= 0 ? focused : cards.findIndex((card) => card.dataset['id'] === currentId);
      if (event.key === 'Escape' && focused >= 0) return cards[place]!.focus();
      if (target.closest('input, textarea, select')) return;
      if (event.key === 'j') cards[Math.min(place + 1, cards.length - 1)]?.focus();
      else if (event.key === 'k') cards[Math.max(place - 1, 0)]?.focus();
      else if (event.key === 'Enter' && target === cards[place]) {
        event.preventDefault();
        target.querySelector<HTMLElement>('input, textarea, select, button')?.focus();
      }
    };
    document.addEventListener('keydown', handleKey);
    return () => document.removeEventListener('keydown', handleKey);
  }, [list, currentId]);
}
