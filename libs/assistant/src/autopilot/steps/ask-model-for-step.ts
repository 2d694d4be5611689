import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PageLook, SessionAction } from '@muster/contracts';
import { toJpegDataUrl, type ModelPart, type ModelPort, type StructuredAnswer } from '@muster/models';
import { stepSchema } from '../task/task-schemas';

/** The part of a session that is sent to the model: the names of inputs and secrets, never their values. */
export interface StepQuestion {
  task: { title: string; goal: string };
  step: { id: string; title: string; instruction: string; expect: object | null; kind: string };
  inputs: string[];
  secrets: string[];
  attempt: number;
  lastError: string | null;
  look: PageLook;
}

export interface StepAnswer {
  status: 'act' | 'done' | 'blocked' | 'unsure';
  reason: '' | 'one_time_code' | 'captcha' | 'other';
  question: string;
  confidence: number;
  actions: SessionAction[];
}

const prompt = readFileSync(join(__dirname, '../prompts/step.md'), 'utf8');

/** Asks the model how to do a step on the current page. */
export function askModelForStep(
  model: Pick<ModelPort, 'answerStructured'>,
  question: StepQuestion,
  { picture, signal }: { picture: Buffer | null; signal: AbortSignal },
): Promise<StructuredAnswer<StepAnswer>> {
  const { look, ...facts } = question;
  const { url, title, tree } = look;
  const text = JSON.stringify({ ...facts, untrustedPage: { url, title, tree } });
  const parts: ModelPart[] = [{ kind: 'text', text }];
  const dataUrl = picture && toJpegDataUrl(picture);
  if (dataUrl) parts.push({ kind: 'picture', dataUrl });
  return model.answerStructured<StepAnswer>({
    name: 'autopilot_step',
    schema: stepSchema,
    messages: [
      { role: 'system', content: prompt },
      { role: 'user', content: parts },
    ],
    signal,
  });
}
