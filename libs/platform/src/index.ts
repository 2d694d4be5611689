import { x } from "@muster/contracts";
import { Injectable } from "@nestjs/common";
@Injectable() export class A { constructor(readonly b: B) {} }
export class B { y = x }
