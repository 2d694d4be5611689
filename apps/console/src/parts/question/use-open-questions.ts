import { type InfiniteData, type QueryClient } from '@tanstack/react-query';
import { type Question, type QuestionList, questionsList } from '../../api/generated';
import { usePermission } from '../../api/session';
import { type List, useList } from '../../api/use-list';

const queryKey = ['questions', 'open'];
const getQuestions = (page: QuestionList) => page.questions;

/** Reads the open questions that the user may answer, or for a viewer all of them; oldest first. */
export function useOpenQuestions(): List<Question> {
  const mayAnswer = usePermission('runs.write');
  return useList({
    queryKey,
    fetchPage: (page, signal) =>
      questionsList({ query: { ...page, status: 'open', order: 'asc', mine: mayAnswer ? 'true' : 'false' }, signal }),
    itemsOf: getQuestions,
    enabled: usePermission('runs.read'),
  });
}

/** Removes a closed question from the cached list, because a list of many pages is not refetched for each event. */
export function removeOpenQuestion(client: QueryClient, id: string): void {
  client.setQueryData<InfiniteData<QuestionList>>(queryKey, (list) => {
    const pages = list?.pages.map((page) => ({ ...page, questions: page.questions.filter((each) => each.id !== id) }));
    return list && pages && { ...list, pages };
  });
}
