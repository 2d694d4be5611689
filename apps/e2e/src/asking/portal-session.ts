import type { AutopilotTask, SessionAction } from '@muster/contracts';
import type { FakeModel } from '@muster/testing';

/** Builds the task that signs in to the portal with a password from the vault and a code from a person. */
export function buildSignInTask(startUrl: string): AutopilotTask {
  return {
    title: 'Sign in to the payer',
    goal: 'Be signed in.',
    startUrl,
    inputs: ['RUN'],
    steps: [
      { id: 'password', title: 'Enter the password', instruction: 'Sign in with {{PORTAL_PASSWORD}}.', kind: 'browse' },
      {
        id: 'code',
        title: 'Enter the code',
        instruction: 'Enter the code.',
        expect: { text: 'welcome' },
        kind: 'browse',
      },
    ],
    success: { description: 'the portal says welcome', check: { text: 'welcome' } },
  };
}

/** Makes the model answer the steps of the task with the placeholders that it is offered. */
export function scriptSignIn(model: FakeModel): void {
  model.addRule(({ lastUserText }) => {
    const { step, secrets } = JSON.parse(lastUserText) as { step: { id: string }; secrets: string[] };
    const [name, value, button] =
      step.id === 'password' ? ['password', 'PORTAL_PASSWORD', 'Sign in'] : ['code', 'one-time-code', 'Continue'];
    if (!secrets.includes(value)) return undefined;
    const actions = [
      buildAction('fill', `input[name="${name}"]`, `{{${value}}}`),
      buildAction('click', `aria/${button}[role="button"]`),
    ];
    return { json: { status: 'act', reason: '', question: '', confidence: 1, actions } };
  });
}

function buildAction(action: SessionAction['action'], selector: string, value = ''): SessionAction {
  const kind = selector.startsWith('aria/') ? 'role' : 'css';
  return { action, name: selector, selectors: [{ kind, selector }], value, all: false, submits: false };
}
