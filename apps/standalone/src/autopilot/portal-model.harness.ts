import type { AutopilotTask, SessionAction } from '@muster/contracts';
import type { FakeModel } from '@muster/testing';

/** The task to file a claim at the fake portal: sign in, open the form, fill it, send it, verify that it arrived. */
export function buildClaimTask(startUrl: string): AutopilotTask {
  return {
    title: 'File a claim',
    goal: 'File the claim CLAIM_ID at the portal.',
    startUrl: `${startUrl}/login`,
    inputs: ['PORTAL_USER', 'CLAIM_ID', 'AMOUNT'],
    steps: [
      {
        id: 'sign-in',
        title: 'Sign in',
        instruction: 'Sign in as {{PORTAL_USER}} with {{PORTAL_PASSWORD}}.',
        expect: { url: '/claims', text: 'Page 1' },
        kind: 'browse',
      },
      {
        id: 'open-form',
        title: 'Open the form',
        instruction: 'Open the submission of {{CLAIM_ID}}.',
        expect: { url: '/submit', text: 'Submission' },
        kind: 'browse',
      },
      {
        id: 'fill-form',
        title: 'Fill the form',
        instruction: 'Give the amount {{AMOUNT}} and the payer Cigna.',
        kind: 'browse',
      },
      {
        id: 'send',
        title: 'Send the claim',
        instruction: 'Send the claim.',
        expect: { url: '/confirmation', text: 'was received' },
        kind: 'browse',
      },
      {
        id: 'arrived',
        title: 'It arrived',
        instruction: 'See that the portal has received it.',
        expect: { text: 'was received', notText: 'Submission' },
        kind: 'verify',
      },
    ],
    success: { description: 'the claim was received', check: { text: 'Reference' } },
  };
}

export interface StepQuestion {
  task: { title: string; goal: string };
  step: { id: string; instruction: string; kind: string };
  inputs: string[];
  secrets: string[];
  attempt: number;
  lastError: string | null;
  untrustedPage: { url: string; title: string; tree: string };
}

const answerWithActions = (...actions: SessionAction[]) => ({
  status: 'act',
  reason: '',
  question: '',
  confidence: 0.9,
  actions,
});

function buildAction(
  name: SessionAction['action'],
  label: string,
  selector: string,
  { value = '', submits = false }: { value?: string; submits?: boolean } = {},
): SessionAction {
  const kind = selector.startsWith('aria/') ? 'role' : 'css';
  return { action: name, name: label, selectors: [{ kind, selector }], value, all: false, submits };
}

/** Makes the model answer the steps of buildClaimTask correctly for every design of the portal. */
export function scriptStepAnswers(model: FakeModel, questions: StepQuestion[] = []): void {
  model.addRule((call) => {
    if (call.schemaName !== 'autopilot_step') return undefined;
    const question = JSON.parse(call.lastUserText) as StepQuestion;
    questions.push(question);
    return { json: chooseAnswer(question), usage: { inputTokens: 2000, outputTokens: 150 } };
  });
}

function chooseAnswer({ step, untrustedPage: { tree } }: StepQuestion): object {
  switch (step.id) {
    case 'sign-in':
      return answerWithActions(
        buildAction('fill', 'user', 'aria/User name[role="textbox"]', { value: '{{PORTAL_USER}}' }),
        buildAction('fill', 'password', 'aria/Password[role="textbox"]', { value: '{{PORTAL_PASSWORD}}' }),
        buildAction('click', 'sign in', 'aria/Sign in[role="button"]'),
      );
    case 'open-form':
      return answerWithActions({
        ...buildAction('navigate', 'form', 'css'),
        selectors: [],
        value: '/submit?claim={{CLAIM_ID}}',
      });
    case 'fill-form':
      return answerWithActions(
        buildAction('fill', 'amount', 'aria/Amount[role="textbox"]', { value: '{{AMOUNT}}' }),
        buildAction('select', 'payer', 'aria/Payer', { value: 'Cigna' }),
      );
    case 'send': {
      const [, word] = /button "(Submit claim|Send to payer|Transmit now)"/.exec(tree) ?? [];
      if (!word) return { status: 'done', reason: '', question: '', confidence: 1, actions: [] };
      return answerWithActions(buildAction('click', 'send', `aria/${word}[role="button"]`, { submits: true }));
    }
    default:
      return { status: 'unsure', reason: '', question: `What is ${step.id}?`, confidence: 0.1, actions: [] };
  }
}
