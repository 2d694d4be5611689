import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type AnswerQuestionBody, type Question, questionsAnswer, questionsDecline } from '../../api/generated';
import { removeDirectionMarks } from '../../format/one-direction';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { CheckField, Form, SelectField, TextAreaField, TextField, type Values } from '../../ui/form';
import { showToast, showErrorToast } from '../../ui/toast';

type Answer = AnswerQuestionBody['answer'];

interface FormField {
  name: string;
  label: string;
  type: 'text' | 'number' | 'boolean' | 'choice';
  choices?: string[];
  required: boolean;
}

/** The parts of a question that determine its answer form. */
type AskedQuestion = Pick<Question, 'kind' | 'choices' | 'fields' | 'takeover'>;

/** The form that answers a question, according to its kind. */
export function QuestionAnswer({ question }: { question: Question }) {
  const refresh = useRefreshQuestions();
  const [isDeclining, setIsDeclining] = useState(false);
  const sendAnswer = async (value: Answer) => {
    await questionsAnswer({ path: { id: question.id }, body: { answer: value } }).finally(refresh);
    showToast(`Answered. The ${question.sessionId ? 'session' : 'run'} continues.`);
  };
  return (
    <>
      <AnswerForm question={question} answer={sendAnswer}>
        <Button look="quiet" className="ml-auto text-dim" onClick={() => setIsDeclining(true)}>
          Decline
        </Button>
      </AnswerForm>
      {isDeclining && <DeclineDialog question={question} close={() => setIsDeclining(false)} />}
    </>
  );
}

interface AnswerFormProps {
  question: AskedQuestion;
  answer: (value: Answer) => Promise<void>;
  /** Additional buttons after the submit button. */
  children: ReactNode;
}

/** The buttons or fields for the answer. */
function AnswerForm({ question, answer, children }: AnswerFormProps) {
  const [isBusy, setIsBusy] = useState(false);
  const sendChoice = async (value: Answer) => {
    setIsBusy(true);
    await answer(value).catch(showErrorToast);
    setIsBusy(false);
  };
  const choices = listChoices(question);
  if (!choices) {
    return (
      <Form submit="Answer" actions={children} onSubmit={(values) => answer(readAnswer(question, values))}>
        <AnswerFields question={question} />
      </Form>
    );
  }
  return (
    <div className="flex flex-wrap gap-2">
      {choices.map(({ label, value }, at) => (
        <Button
          key={at}
          look={value === true ? 'primary' : 'plain'}
          className="max-w-full min-w-0 max-sm:min-h-11"
          disabled={isBusy}
          onClick={() => void sendChoice(value)}
        >
          <bdi className="min-w-0 [overflow-wrap:anywhere] whitespace-normal">{label}</bdi>
        </Button>
      ))}
      {children}
    </div>
  );
}

function DeclineDialog({ question: { id, sessionId }, close }: { question: Question; close: () => void }) {
  const refresh = useRefreshQuestions();
  return (
    <Dialog
      open
      onOpenChange={close}
      title="Decline this question?"
      description={`${sessionId ? 'The session fails.' : declinedRun} This cannot be undone.`}
    >
      <Form
        submit="Decline"
        danger
        onSubmit={(values) =>
          questionsDecline({ path: { id }, body: { reason: values.readText('reason') || null } }).finally(refresh)
        }
        onDone={() => {
          close();
          showToast('The question is declined.');
        }}
      >
        <TextField label="Reason (optional)" name="reason" maxLength={500} />
      </Form>
    </Dialog>
  );
}

const declinedRun = 'The script continues with the default answer of the question, or fails if there is none.';

function useRefreshQuestions(): () => Promise<unknown> {
  const client = useQueryClient();
  return () => Promise.all(['questions', 'run', 'runs'].map((key) => client.invalidateQueries({ queryKey: [key] })));
}

/** The choices that answer the question with one click; null if the answer is typed. */
function listChoices({ kind, choices, takeover }: AskedQuestion): { label: string; value: Answer }[] | null {
  if (kind === 'choice') return (choices ?? []).map((value) => ({ label: value, value }));
  if (kind !== 'confirm') return null;
  return [
    { label: takeover ? 'Done' : 'Yes', value: true },
    { label: 'No', value: false },
  ];
}

function AnswerFields({ question }: { question: AskedQuestion }) {
  switch (question.kind) {
    case 'form':
      return getFormFields(question).map((field) => <AnswerField key={field.name} field={field} />);
    case 'code':
      return (
        <TextField
          label="Code"
          name="answer"
          required
          autoComplete="one-time-code"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={10}
          pattern="[A-Za-z0-9]{4,10}"
          title="4 to 10 letters and digits"
        />
      );
    default:
      return <TextAreaField label="Answer" name="answer" required rows={3} maxLength={10_000} />;
  }
}

function AnswerField({ field: { name, label, type, choices = [], required } }: { field: FormField }) {
  const field = { label: removeDirectionMarks(label), name: `answer.${name}` };
  if (type === 'boolean') return <CheckField {...field} initial={false} />;
  if (type === 'choice') {
    const options = choices.map((value) => ({ value, label: removeDirectionMarks(value) }));
    const none = { value: '', label: required ? 'Choose …' : 'None' };
    return <SelectField {...field} required={required} options={[none, ...options]} />;
  }
  return <TextField {...field} required={required} type={type} step="any" autoComplete="off" />;
}

function readAnswer(question: AskedQuestion, values: Values): Answer {
  if (question.kind !== 'form') return values.readText('answer');
  return Object.fromEntries(
    getFormFields(question).flatMap(({ name, type }): [string, unknown][] => {
      const field = `answer.${name}`;
      if (type === 'boolean') return [[name, values.readFlag(field)]];
      const value = type === 'number' ? values.readNumber(field) : values.readText(field);
      return value === null || value === '' ? [] : [[name, value]];
    }),
  );
}

function getFormFields({ fields }: AskedQuestion): FormField[] {
  return (fields ?? []) as unknown as FormField[];
}
