import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Job } from '../../api/generated';
import { buildQuestionQuery } from '../../api/queries';
import { QuestionCard } from '../../parts/question/question-card';

/** The question for which the run waits, at the top of the page; after that, its answer. */
export function OpenQuestion({ run: { asking } }: { run: Job }) {
  const [shownId, setShownId] = useState(asking?.questionId);
  if (asking && asking.questionId !== shownId) setShownId(asking.questionId);
  const { data: question } = useQuery({ ...buildQuestionQuery(shownId ?? ''), enabled: shownId !== undefined });
  return question ? <QuestionCard question={question} live /> : null;
}
