import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { isApiError } from '../../api/api-error';
import { type AnswerByLinkBody, answerLinksAnswer, answerLinksRead, type LinkedQuestion } from '../../api/generated';
import { TimeLeft } from '../../format/time';
import { AnswerForm } from '../../parts/question/question-answer';
import { ErrorNote } from '../../ui/error-note';
import { Skeleton } from '../../ui/page';

/** Page where a person answers a run's question without an account. The link authorizes one answer. */
export function AnswerPage() {
  const [token] = useState(() => decodeURIComponent(location.hash.slice(1)));
  const client = useQueryClient();
  const queryKey = ['answer-link', token];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => answerLinksRead({ body: { token }, signal }),
    retry: false,
  });
  useEffect(() => {
    document.title = 'Answer · Muster';
  }, []);
  if (isApiError(error, 'not_found') || token === '') {
    return (
      <AnswerCard title="This link is not valid">
        The link is incomplete, or the question no longer exists. Open the link again from the message.
      </AnswerCard>
    );
  }
  if (!data) {
    return (
      <AnswerCard title="Question from a run">
        {error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton />}
      </AnswerCard>
    );
  }
  if (data.status !== 'open') return <EndedQuestion question={data} />;
  const sendAnswer = async (value: AnswerByLinkBody['answer']) => {
    try {
      client.setQueryData(queryKey, await answerLinksAnswer({ body: { token, answer: value } }));
    } catch (failure) {
      // The question was already answered, or has ended. The refetched question shows its state.
      if (isApiError(failure, 'already_answered', 'question_over')) await refetch();
      throw failure;
    }
  };
  return (
    <AnswerCard title={data.question}>
      <p className="text-xs text-dim">
        A run is waiting for your answer. <TimeLeft until={data.expiresAt} />
      </p>
      {data.screenshotUrl && (
        <img
          src={data.screenshotUrl}
          alt="Screenshot of the browser when the question was asked"
          className="max-h-96 max-w-full self-start rounded-control border border-line object-contain"
        />
      )}
      <AnswerForm question={data} answer={sendAnswer} />
    </AnswerCard>
  );
}

const endings: Record<Exclude<LinkedQuestion['status'], 'open'>, [title: string, text: string]> = {
  answered: ['Answered', 'The run continues. You can close this page.'],
  expired: ['The question has expired', 'No answer arrived in time, so the run continued without one.'],
  cancelled: ['The question is closed', 'It was declined, or its run has ended.'],
};

function EndedQuestion({ question: { question, status } }: { question: LinkedQuestion }) {
  const [title, text] = endings[status as keyof typeof endings];
  return (
    <AnswerCard title={title}>
      <p dir="auto" className="[overflow-wrap:anywhere] whitespace-pre-wrap text-dim">
        {question}
      </p>
      <p role="status">{text}</p>
    </AnswerCard>
  );
}

function AnswerCard({ title, children }: { title: string; children: ReactNode }) {
  return (
    <main className="flex min-h-dvh items-start justify-center p-4 sm:items-center">
      <div className="flex w-full max-w-xl flex-col gap-4 rounded-panel border border-line bg-surface p-6">
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" className="size-9" />
        <h1 dir="auto" className="[overflow-wrap:anywhere] whitespace-pre-wrap">
          {title}
        </h1>
        {children}
      </div>
    </main>
  );
}
