import { shortenText } from '@muster/contracts';
import { isValidStep, type Step } from '@muster/workflows';
import { type AnalysisRow, buildFrameKey } from './analysis-row';

/** A step as the model reported it. */
export interface SeenStep {
  type: string;
  title: string;
  url: string;
  selectors: string[];
  value: string;
  atMs: number;
  frame: number;
  confidence: number;
}

/** The recorder's step types that are visible in a video. */
export const filmStepTypes = [
  ...['navigate', 'click', 'doubleClick', 'hover', 'change', 'keyDown', 'keyUp', 'scroll', 'waitForElement'],
] as const;

/** Minimum confidence of a step that needs no review. */
const sureFrom = 0.6;
const maxText = 2000;

/** Converts the model's steps to workflow steps with their positions in the video. Invalid steps are left out. */
export function convertVideoSteps(
  analysis: Pick<AnalysisRow, 'organizationId' | 'id' | 'frameTimes'>,
  seen: readonly SeenStep[],
): Step[] {
  const { frameTimes } = analysis;
  const steps = seen.flatMap((each): Step[] => {
    const confidence = Math.min(Math.max(each.confidence, 0), 1);
    const hasFrame = each.frame >= 1 && each.frame <= frameTimes.length;
    const step = {
      ...convertSeenStep(each),
      title: shortenText(each.title.replace(/\s+/g, ' ').trim(), 200),
      confidence,
      atMs: Math.max(Math.round(each.atMs), 0),
      frameKey: hasFrame ? buildFrameKey(analysis, each.frame) : null,
      review: confidence < sureFrom ? 'needed' : null,
    };
    return isValidStep(step) ? [step] : [];
  });
  return steps.map((step, at) => ({ id: `step-${at + 1}`, ...step }));
}

/** Converts recorded steps. They are certain, but have no position in a video. */
export function convertRecordedSteps(steps: readonly Step[]): Step[] {
  return steps.map((step) => ({ ...step, confidence: 1, atMs: null, frameKey: null, review: null }));
}

function convertSeenStep({ type, url, selectors, value }: SeenStep): Step {
  const text = shortenText(value, maxText);
  const found = selectors.filter((each) => each.trim() !== '').slice(0, 10);
  switch (type) {
    case 'navigate':
      return { type, url: shortenText(url, maxText) };
    case 'keyDown':
    case 'keyUp':
      return { type, key: text };
    case 'change':
      return { type, selectors: found, value: text };
    case 'scroll':
      return found.length ? { type, selectors: found } : { type };
    default:
      return { type, selectors: found };
  }
}
