export { parseStructured } from './ask-structured';
export type {
  ModelAnswer,
  ModelCall,
  ModelDelta,
  ModelEndpoint,
  ModelMessage,
  ModelMeter,
  ModelPart,
  ModelPort,
  ModelTool,
  ModelToolCall,
  ModelUsage,
  ModelUse,
  StructuredAnswer,
  StructuredCall,
} from './model';
export { modelProvider } from './model';
export { ModelAborted, ModelFault, type ModelFaultReason, noUsage, sumUsages } from './model-fault';
export { toJpegDataUrl, maxPictureBytes } from './picture';
export { Models } from './models';
export { ModelsConfig } from './models.config';
export { ModelsModule } from './models.module';
