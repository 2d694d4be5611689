import type { AutopilotTask, SessionAction } from '@muster/contracts';
import type { FakeModel, FakePortal } from '@muster/testing';

/** A task that signs in at the fake portal, fills its form and sends it. */
export function portalTask(title: string, { url }: FakePortal): AutopilotTask {
  const step = (id: string, instruction: string, expect?: AutopilotTask['steps'][number]['expect']) => ({
    ...{ id, title: id, instruction, kind: 'browse' as const },
    ...(expect ? { expect } : {}),
  });
  return {
    ...{ title, goal: 'File the claim.', startUrl: `${url}/login`, inputs: ['PORTAL_USER', 'CLAIM_ID'] },
    steps: [
      step('sign-in', 'Sign in as {{PORTAL_USER}} with {{PORTAL_PASSWORD}}.', { url: '/claims' }),
      step('form', 'Fill the form of {{CLAIM_ID}}.', { url: '/submit' }),
      step('send', 'Send it.', { url: '/confirmation', text: 'was received' }),
    ],
    success: { description: 'the claim was received', check: { text: 'Reference' } },
  };
}

/** Makes the model answer each step of `portalTask` with the right actions. */
export function answerPortal(model: FakeModel): void {
  model.answers(({ lastUserText }) => {
    const { step } = JSON.parse(lastUserText) as { step: { id: string } };
    return { json: { status: 'act', reason: '', question: '', confidence: 1, actions: actions[step.id]! } };
  });
}

function action(name: SessionAction['action'], selector: string, more: Partial<SessionAction> = {}): SessionAction {
  const selectors = selector ? [{ kind: 'role' as const, selector }] : [];
  return { action: name, name: selector, selectors, value: '', all: false, submits: false, ...more };
}

const actions: Record<string, SessionAction[]> = {
  'sign-in': [
    action('fill', 'aria/User name[role="textbox"]', { value: '{{PORTAL_USER}}' }),
    action('fill', 'aria/Password[role="textbox"]', { value: '{{PORTAL_PASSWORD}}' }),
    action('click', 'aria/Sign in[role="button"]'),
  ],
  form: [
    action('navigate', '', { value: '/submit?claim={{CLAIM_ID}}' }),
    action('fill', 'aria/Amount[role="textbox"]', { value: '120.00' }),
  ],
  send: [action('click', 'aria/Submit claim[role="button"]', { submits: true })],
};
