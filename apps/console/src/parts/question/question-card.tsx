import { listPermissions, type Permission } from '@muster/contracts/words';
import type { IdentityUser, Question } from '../../api/generated';
import { useCurrentUser } from '../../api/session';
import { Time, TimeLeft } from '../../format/time';
import { RunLink, SessionLink, WorkflowLink } from '../names';
import { LiveScreen } from './live-screen';
import { QuestionAnswer } from './question-answer';

interface QuestionCardProps {
  question: Question;
  /** Shows links to the run and its workflow; for pages other than the run's own. */
  withRun?: boolean;
  /** Shows the browser of the run as it is now instead of the screenshot, if the run has one and the user may see it. */
  live?: boolean;
  /**
   * Called after each click and key press. It is not called on focus, because the list could then move while the
   * pointer is pressed.
   */
  onTouched?: () => void;
}

/** A question with its context and screenshot, and the answer form or the outcome. */
export function QuestionCard({ question, withRun, live, onTouched }: QuestionCardProps) {
  const { user } = useCurrentUser();
  const { id, jobId, sessionId, workflowId, context, status, expiresAt } = question;
  const isOpen = status === 'open';
  return (
    <article
      data-testid="question"
      data-id={id}
      tabIndex={-1}
      aria-labelledby={`question-${id}`}
      onClick={onTouched}
      onKeyUp={onTouched}
      className="flex min-w-0 scroll-m-4 flex-col gap-3 rounded-panel border border-line bg-surface p-3.5 [&>form]:max-w-xl"
    >
      <div className="flex flex-col gap-1">
        <h2 id={`question-${id}`} dir="auto" className="font-medium [overflow-wrap:anywhere] whitespace-pre-wrap">
          {question.question}
        </h2>
        <p className="flex flex-wrap gap-x-3 text-xs text-dim [overflow-wrap:anywhere]">
          {isOpen && <TimeLeft until={expiresAt} />}
          {withRun && workflowId && <WorkflowLink id={workflowId} />}
          {withRun && jobId && <RunLink id={jobId} />}
          {withRun && sessionId && <SessionLink id={sessionId} />}
          {isOpen && !live && question.takeover && 'Open the run to use its browser.'}
        </p>
      </div>
      {isOpen && live && jobId && user.permissions.includes('runs.screens') ? (
        <LiveScreen jobId={jobId} usable={question.takeover && canAnswer(question, user)}>
          <Screenshot question={question} />
        </LiveScreen>
      ) : (
        isOpen && <Screenshot question={question} />
      )}
      {context && isOpen && (
        <dl className="grid grid-cols-[fit-content(45%)_1fr] gap-x-4 gap-y-1">
          {Object.entries(context).map(([name, value]) => (
            <div key={name} className="contents">
              <dt dir="auto" className="[overflow-wrap:anywhere] text-dim">
                {name}
              </dt>
              <dd dir="auto" className="min-w-0 [overflow-wrap:anywhere] whitespace-pre-wrap">
                {typeof value === 'string' ? value : JSON.stringify(value)}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {!isOpen ? (
        <QuestionOutcome question={question} />
      ) : canAnswer(question, user) ? (
        <QuestionAnswer question={question} />
      ) : (
        <QuestionAudience to={question.to} />
      )}
    </article>
  );
}

function Screenshot({ question: { screenshotUrl } }: { question: Question }) {
  if (!screenshotUrl) return null;
  return (
    <a href={screenshotUrl} target="_blank" rel="noreferrer" className="self-start">
      <img
        src={screenshotUrl}
        alt="What the browser showed when the question was asked"
        loading="lazy"
        className="max-h-96 max-w-full rounded-control border border-line object-contain"
      />
    </a>
  );
}

function canAnswer({ to }: Question, { permissions, email }: IdentityUser): boolean {
  if (!permissions.includes('runs.write')) return false;
  // The audience includes the users who have all permissions of a role.
  const hasRolePermissions = (role: string) =>
    listPermissions({ role }).every((each: Permission) => permissions.includes(each));
  const includesUser = (entry: string) =>
    entry.startsWith('role:') ? hasRolePermissions(entry.slice('role:'.length)) : entry === email?.toLowerCase();
  return to.length === 0 || to.some(includesUser);
}

/** Shows who may answer, to a user who may not. */
function QuestionAudience({ to }: Pick<Question, 'to'>) {
  const who = [...new Set(to.length > 0 ? to.map(formatAudience) : ['every member'])];
  const list = new Intl.ListFormat('en', { type: 'disjunction' });
  return (
    <p className="text-dim [overflow-wrap:anywhere]">
      This question can be answered by{' '}
      {list.formatToParts(who).map(({ type, value }, at) => (type === 'element' ? <bdi key={at}>{value}</bdi> : value))}
      .
    </p>
  );
}

function formatAudience(entry: string): string {
  if (entry === 'role:admin') return 'every administrator';
  if (entry === 'role:super_admin') return 'every super administrator';
  // Viewers cannot answer, so `role:viewer` means every member too.
  return entry.startsWith('role:') ? 'every member' : entry;
}

function QuestionOutcome({ question: { status, answeredBy, answeredAt, reason, sessionId } }: { question: Question }) {
  if (status === 'answered') {
    return (
      <p role="status" className="[overflow-wrap:anywhere]">
        Answered by <bdi>{formatAnswerer(answeredBy)}</bdi> <Time at={answeredAt} relative />. The{' '}
        {sessionId ? 'session' : 'run'} continues.
      </p>
    );
  }
  if (status === 'expired') return <p role="status">No person answered in time.</p>;
  return (
    <p role="status" className="[overflow-wrap:anywhere]">
      {answeredBy ? (
        <>
          Declined by <bdi>{formatAnswerer(answeredBy)}</bdi>
        </>
      ) : (
        'Cancelled'
      )}
      {reason && (
        <>
          : <bdi>{reason}</bdi>
        </>
      )}
    </p>
  );
}

function formatAnswerer(answerer: Question['answeredBy']): string {
  return answerer?.email ?? answerer?.name ?? '';
}
