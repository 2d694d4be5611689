import {
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  ListField,
  ObjectField,
  TextField,
  UuidField,
} from '../fields';
import { type TrackerName, trackerNames } from './feedback-words';

export class TrackerStop {
  @DateTimeField() since!: string;
  @TextField({ max: 2000, min: 0, example: 'codehost answered 401: Bad credentials' }) reason!: string;
}

export class TrackerState {
  @BooleanField() configured!: boolean;
  @ObjectField(() => TrackerStop, {
    nullable: true,
    description:
      'Why synchronization with this tracker is stopped; null if it is running. The synchronization resumes as soon ' +
      'as a call to the tracker succeeds again.',
  })
  stopped!: TrackerStop | null;
}

export class DeadFeedback {
  @UuidField() id!: string;
  @UuidField() submissionId!: string;
  @EnumField(trackerNames) tracker!: TrackerName;
  @IntField({ example: 20 }) attempts!: number;
  @TextField({ max: 1000, min: 0, example: 'codehost answered 422: Validation Failed' }) error!: string;
  @DateTimeField() since!: string;
}

export class FeedbackSync {
  @BooleanField() enabled!: boolean;
  @ObjectField(() => TrackerState) codehost!: TrackerState;
  @ObjectField(() => TrackerState) tasktracker!: TrackerState;
  @IntField({
    example: 0,
    description: 'Number of work items that wait for synchronization with a configured tracker.',
  })
  pending!: number;
  @ListField(() => DeadFeedback, {
    maxItems: 200,
    description: 'Synchronizations that failed permanently, the oldest 200.',
  })
  dead!: DeadFeedback[];
  @DateTimeField({ nullable: true }) lastReconciledAt!: string | null;
}

export class FeedbackWebhookAnswer {
  @BooleanField() accepted!: boolean;
  @EnumField(['unsupported_event', 'unknown_reference', 'duplicate'], { optional: true }) reason?:
    'unsupported_event' | 'unknown_reference' | 'duplicate';
}
