import {
  type Question,
  type QuestionList,
  questionsAnswer,
  questionsDecline,
  questionsList,
  type QuestionsListData,
  questionsRead,
} from '../generated';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';

type Filters = Omit<NonNullable<QuestionsListData['query']>, 'cursor' | 'mine'> & { mine?: boolean };

/** Questions of runs that wait for a person. */
export class Questions extends Resource {
  /** Lists questions, newest first unless `order` is `asc`. */
  list({ mine, ...query }: Filters = {}, call?: CallOptions): List<Question, QuestionList> {
    return new List(
      (page) =>
        questionsList({ ...this.with(call), query: { ...query, ...(mine ? { mine: 'true' as const } : {}), ...page } }),
      ({ questions }) => questions,
    );
  }

  get(id: string, call?: CallOptions) {
    return questionsRead({ ...this.with(call), path: { id } });
  }

  /** Answers a question. Fails with `already_answered` if the question already has an answer. */
  answer(id: string, answer: string | number | boolean | Record<string, unknown>, call?: CallOptions) {
    return questionsAnswer({ ...this.with(call), path: { id }, body: { answer: answer as never } });
  }

  decline(id: string, reason?: string, call?: CallOptions) {
    return questionsDecline({ ...this.with(call), path: { id }, body: reason === undefined ? {} : { reason } });
  }
}
