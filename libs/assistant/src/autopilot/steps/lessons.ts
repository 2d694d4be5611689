import type { DoneAction, SelectorCandidate, SessionAction } from '@muster/contracts';
import type { AutopilotLessonEntity, Transaction } from '@muster/database';

export type Lesson = Pick<AutopilotLessonEntity, 'stepId' | 'code' | 'actions' | 'selectors' | 'extracts'>;
type LessonRef = Pick<AutopilotLessonEntity, 'organizationId' | 'taskKey'>;

const maxCandidates = 8;

export async function findLesson(tx: Transaction, lessonRef: LessonRef, stepId: string): Promise<Lesson | null> {
  const [lesson] = await tx.query<Lesson>(
    `SELECT step_id, code, actions, selectors, extracts FROM autopilot_lesson
     WHERE organization_id = $1 AND task_key = $2 AND step_id = $3`,
    [lessonRef.organizationId, lessonRef.taskKey, stepId],
    'find_autopilot_lesson',
  );
  return lesson ?? null;
}

/** Stores how a step was done and replaces the step's previous lesson. */
export function saveLesson(
  tx: Transaction,
  lessonRef: LessonRef & { sessionId: string; healed: boolean },
  { stepId, code, actions, selectors, extracts }: Lesson,
): void {
  tx.deferStatement(
    `INSERT INTO autopilot_lesson AS l
       (organization_id, task_key, step_id, code, actions, selectors, extracts, session_id, healed)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (organization_id, task_key, step_id) DO UPDATE
     SET code = excluded.code, actions = excluded.actions, selectors = excluded.selectors,
         extracts = excluded.extracts, session_id = excluded.session_id, healed = l.healed + excluded.healed,
         updated_at = muster_now()`,
    [
      ...[
        lessonRef.organizationId,
        lessonRef.taskKey,
        stepId,
        code,
        JSON.stringify(actions),
        JSON.stringify(selectors),
      ],
      ...[extracts, lessonRef.sessionId, lessonRef.healed ? 1 : 0],
    ],
    'save_autopilot_lesson',
  );
}

/**
 * Returns the actions, each with all its known selectors, best first: the selectors that fitted the page in this
 * attempt, and the selectors of the previous lesson, whose scores are halved.
 */
export function rankSelectorsOfActions(
  actions: SessionAction[],
  done: DoneAction[],
  previous: Lesson | null,
): SessionAction[] {
  return actions.map((action, at) => {
    const now = done.find((each) => each.at === at)?.candidates ?? [];
    const before = previous?.selectors.find(({ name }) => name === action.name)?.candidates ?? [];
    const ranked = rankSelectors([...now, ...before.map((each) => ({ ...each, score: each.score / 2 }))]);
    if (ranked.length === 0) return action;
    return { ...action, selectors: ranked.map(({ kind, selector }) => ({ kind, selector })) };
  });
}

/** Removes duplicates and returns the best candidates, best first. */
export function rankSelectors(candidates: SelectorCandidate[]): SelectorCandidate[] {
  const best = new Map<string, SelectorCandidate>();
  for (const each of candidates) {
    const existing = best.get(each.selector);
    if (!existing || existing.score < each.score) best.set(each.selector, each);
  }
  return [...best.values()].sort((a, b) => b.score - a.score).slice(0, maxCandidates);
}

/**
 * Minimum score of a selector that identifies an element by more than its position. Stable code uses weaker
 * selectors only if a step has no other.
 */
const sureScore = 0.6;

/** Keeps only the sure selectors of each step; a step that has none of them keeps all its selectors. */
export function limitToReliableSelectors(
  steps: Record<string, unknown>[],
  done: DoneAction[],
): Record<string, unknown>[] {
  const sure = new Set(
    done.flatMap(({ candidates }) =>
      candidates.filter(({ score }) => score >= sureScore).map(({ selector }) => selector),
    ),
  );
  return steps.map((step) => {
    const { selectors } = step;
    if (!Array.isArray(selectors)) return step;
    const sureSelectors = selectors.filter((each: unknown) =>
      sure.has(Array.isArray(each) ? each.join() : String(each)),
    );
    return sureSelectors.length > 0 ? { ...step, selectors: sureSelectors } : step;
  });
}
