import type { AutopilotSession, SessionAttempt, SessionStep, StepSelectors } from '../../api/generated';
import { formatMoney } from '../../format/format';
import { escapeDirectionMarks } from '../../format/one-direction';
import { Duration } from '../../format/time';
import { ErrorWithAdvice } from '../../ui/error-note';
import { EmptyNote, Panel } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { PageScreenshot } from './picture';

const strategies: Record<SessionAttempt['strategy'], string> = {
  stable_code: 'code from an earlier session',
  selectors: 'known selectors',
  model: 'the model',
};

/** Steps of the task with their attempts, selectors and code. The current step and failed steps are open. */
export function SessionSteps({ session }: { session: AutopilotSession }) {
  const { steps, currentStep, task } = session;
  return (
    <Panel title="Steps">
      {steps.length === 0 && <EmptyNote title="The steps are being written." />}
      <ol className="flex flex-col divide-y divide-line">
        {steps.map((step, at) => (
          <SessionStepRow
            key={step.id}
            step={step}
            instruction={task?.steps[at]?.instruction}
            isCurrent={step.id === currentStep}
          />
        ))}
      </ol>
    </Panel>
  );
}

function SessionStepRow({
  step,
  instruction,
  isCurrent,
}: {
  step: SessionStep;
  instruction?: string;
  isCurrent: boolean;
}) {
  const { title, status, attempts, selectors, stableCode } = step;
  return (
    <li data-testid="session-step" aria-current={isCurrent ? 'step' : undefined} className="py-2">
      <details open={isCurrent || status === 'failed' || undefined}>
        <summary className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <StatusMark status={status} />
          <bdi className="min-w-0 grow font-medium">{title}</bdi>
          <span className="text-xs text-dim">
            {attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`}
          </span>
        </summary>
        <div className="mt-2 flex flex-col gap-3 sm:pl-6">
          {instruction && (
            <p dir="auto" className="break-words whitespace-pre-wrap text-dim">
              {instruction}
            </p>
          )}
          <ol className="flex flex-col gap-3">
            {attempts.map((attempt) => (
              <AttemptDetails key={attempt.attempt} attempt={attempt} title={title} />
            ))}
          </ol>
          {selectors.length > 0 && <SelectorList selectors={selectors} />}
          {stableCode && (
            <details>
              <summary className="text-dim">Code that runs without a model</summary>
              <pre
                tabIndex={0}
                aria-label={`Code of ${title}`}
                className="mt-1 max-h-80 overflow-auto rounded-control bg-sunken p-2 font-mono text-xs"
              >
                {escapeDirectionMarks(stableCode)}
              </pre>
            </details>
          )}
        </div>
      </details>
    </li>
  );
}

function AttemptDetails({ attempt: sessionAttempt, title }: { attempt: SessionAttempt; title: string }) {
  const { attempt, strategy, outcome, error, code, startedAt, finishedAt, screenshotUrl, usage } = sessionAttempt;
  return (
    <li data-testid="session-attempt" className="flex flex-col gap-1.5 border-l-2 border-line pl-3">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span>Attempt {attempt}</span>
        <StatusMark status={outcome} />
        <span className="text-dim">by {strategies[strategy]}</span>
        <span className="text-dim">
          <Duration from={startedAt} to={finishedAt} />
        </span>
        {usage.modelCalls > 0 && <span className="text-dim">{formatMoney(usage.costUsd)}</span>}
      </p>
      {outcome === 'failed' ? (
        <ErrorWithAdvice error={error} code={code} />
      ) : (
        error && (
          <p dir="auto" className="break-words whitespace-pre-wrap text-dim">
            {error}
          </p>
        )
      )}
      {screenshotUrl && <PageScreenshot url={screenshotUrl} alt={`The page after attempt ${attempt} of ${title}`} />}
    </li>
  );
}

function SelectorList({ selectors }: { selectors: StepSelectors[] }) {
  return (
    <details>
      <summary className="text-dim">Selectors, best first</summary>
      <ul className="mt-1 flex flex-col gap-1.5">
        {selectors.map(({ name, candidates }, at) => (
          <li key={at}>
            <bdi>{name}</bdi>
            <ul className="pl-4 font-mono text-xs text-dim">
              {candidates.map(({ selector, kind, score, uniqueNow }, place) => (
                <li key={place} className="break-all">
                  <bdi>{selector}</bdi> ({kind}, {Math.round(score * 100) / 100}
                  {uniqueNow ? '' : ', matches several elements'})
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </details>
  );
}
