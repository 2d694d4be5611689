import {
  DateTimeField,
  EnumField,
  IntField,
  ObjectField,
  TextField,
  TextListField,
  TextMapField,
  UuidField,
} from '../fields';

const targetPreferences = ['running', 'spread'] as const;
/** Which of several idle agents gets a run: the one that was busy last, or the one that has been idle longest. */
export type TargetPreference = (typeof targetPreferences)[number];

const labels = { minItems: 1, maxItems: 20, max: 64, visible: true, example: ['front-desk'] };

/** Requirements for the agent of a run that names no agent. */
export class RunTarget {
  @TextListField({ ...labels, description: 'Labels that the agent must have, all of them.' }) labels!: string[];
  @EnumField(targetPreferences, {
    optional: true,
    description:
      'Which of several idle agents gets the run: `running`, the default, prefers the one that was busy last, so that ' +
      'the others can be stopped; `spread` prefers the one that has been idle longest.',
  })
  prefer?: TargetPreference;
}

export class JobTarget {
  @TextListField(labels) labels!: string[];
  @EnumField(targetPreferences) prefer!: TargetPreference;
}

/** The agent that the dispatcher chose for a run. */
export class JobPlacement {
  @UuidField() agentId!: string;
  @TextField({ max: 1000, example: 'it is online and idle, and was busy last' }) why!: string;
  @DateTimeField() at!: string;
}

export class PlacementPreviewBody {
  @UuidField() workflowId!: string;
  @UuidField({ optional: true, description: 'Agent that would run the job. Specify either agentId or target.' })
  agentId?: string;
  @ObjectField(() => RunTarget, { optional: true, description: 'Requirements for the agent of the run.' })
  target?: RunTarget;
  @TextMapField({
    optional: true,
    example: { PORTAL_USER: 'front-desk' },
    description:
      'Values of the workflow’s variables. Concurrency keys that contain a variable without a value are not checked.',
  })
  variables?: Record<string, string>;
}

const placementForecasts = ['start', 'wake', 'wait', 'refuse'] as const;
export type PlacementForecast = (typeof placementForecasts)[number];

/** Forecast for a run that is launched now. */
export class PlacementPreview {
  @IntField({ example: 4, description: 'Number of agents that can take the run, in any state.' }) fits!: number;
  @IntField({ example: 2, description: 'Number of these agents that are online.' }) online!: number;
  @IntField({ example: 1, description: 'Number of these agents that could start a run now.' }) idle!: number;
  @EnumField(placementForecasts, {
    description:
      'start: the run starts now. wake: an agent is started for it. wait: it waits for an agent, a concurrency key or ' +
      'an account. refuse: the launch is rejected, or the run would fail at once.',
  })
  would!: PlacementForecast;
  @UuidField({ optional: true, description: 'Agent that would run the job or be started. Absent if there is none.' })
  agentId?: string;
  @TextField({ max: 1000, example: 'it is online and idle, and was busy last' }) reason!: string;
}
