import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { autopilotAct, type AutopilotSession, type SessionPause, type StepOverride } from '../../api/generated';
import { usePermission } from '../../api/session';
import { buildQuestionQuery } from '../../api/queries';
import { pauseWords } from '../../parts/autopilot/session-words';
import { QuestionAnswer } from '../../parts/question/question-answer';
import { CodeEditor } from '../../ui/code-editor';
import { CheckField, Field, Form, inputClass } from '../../ui/form';
import { Panel } from '../../ui/page';
import { showToast } from '../../ui/toast';
import { PageScreenshot } from './picture';

const example = `page.fill("aria/Claim number", "{{CLAIM_ID}}")
page.click("aria/Search")`;

/** Question of a paused session, a screenshot of its page, and the form that answers and resumes it. */
export function SessionQuestion({ session, pause }: { session: AutopilotSession; pause: SessionPause }) {
  const mayControl = usePermission('agents.control');
  const { title, hint } = pauseWords[pause.reason];
  const mayAnswer = usePermission('runs.write');
  const { data: question } = useQuery({
    ...buildQuestionQuery(pause.questionId ?? ''),
    enabled: mayAnswer && pause.questionId !== null,
  });
  const step = session.steps.find(({ id }) => id === session.currentStep);
  return (
    <Panel title="Question">
      <div className="grid gap-4 md:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-2">
          <p className="font-medium text-warn">{title}</p>
          {step && (
            <p className="text-dim">
              In the step <bdi>{step.title}</bdi>
            </p>
          )}
          <p dir="auto" data-testid="session-question" className="break-words whitespace-pre-wrap">
            {pause.question}
          </p>
          {pause.screenshotUrl && <PageScreenshot url={pause.screenshotUrl} alt="The page when the session paused" />}
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          {/* The instruction is the answer to a question that is answered with a text. */}
          {question?.status === 'open' && question.kind !== 'text' && <QuestionAnswer question={question} />}
          {mayControl ? (
            <AnswerForm session={session} hint={hint} />
          ) : (
            !mayAnswer && <p className="text-dim">Your role does not allow you to answer.</p>
          )}
        </div>
      </div>
    </Panel>
  );
}

function AnswerForm({ session: { sessionId, agentId }, hint }: { session: AutopilotSession; hint: string }) {
  const [showsCode, setShowsCode] = useState(false);
  const client = useQueryClient();
  return (
    <Form
      submit="Resume"
      onSubmit={(values) => {
        const instruction = values.readText('stepOverride.instruction');
        const code = values.readExactText('stepOverride.code');
        const stepOverride: StepOverride = {
          ...(instruction ? { instruction } : {}),
          ...(code.trim() ? { code } : {}),
          ...(values.readFlag('skip') ? { skip: true } : {}),
        };
        const override = Object.keys(stepOverride).length > 0 ? { stepOverride } : {};
        return autopilotAct({ path: { id: agentId }, body: { action: 'resume', sessionId, ...override } });
      }}
      onDone={() => {
        void client.invalidateQueries({ queryKey: ['autopilot-session', sessionId] });
        showToast('The session continues.');
      }}
    >
      <Field label="Instruction" name="stepOverride.instruction" hint={hint}>
        {(control) => <textarea {...control} rows={3} maxLength={4000} className={inputClass} />}
      </Field>
      <details onToggle={({ currentTarget }) => setShowsCode(currentTarget.open)}>
        <summary>Code</summary>
        {showsCode && (
          <div className="mt-2 flex flex-col gap-1">
            <CodeEditor label="Code" name="stepOverride.code" initial="" />
            <p className="text-xs text-dim">
              Python that runs once instead of this step and is not saved. Methods of page: goto, click, fill, select,
              check, press, hover, scroll, upload, extract, wait, wait_for_element. For example:
            </p>
            <pre className="overflow-x-auto text-xs text-dim">{example}</pre>
          </div>
        )}
      </details>
      <CheckField label="Skip this step" name="skip" initial={false} />
    </Form>
  );
}
